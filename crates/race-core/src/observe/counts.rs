use core::{fmt, time::Duration};

/// The numbers of [`Counters`](crate::observe::Counters) at one time.
///
/// `Display` prints one line and leaves out what is zero, from `failovers` on.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, observe::Counters, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let ask = |&(latency, answer): &(u64, Result<u32, &'static str>)| {
///     let latency = clock.sleep(ms(latency));
///     async move {
///         latency.await;
///         answer
///     }
/// };
/// let servers = [(200, Ok(1)), (10, Err("busy")), (100, Ok(3)), (200, Ok(4))];
/// let counters = Counters::new();
/// let race = Race::at(clock.timer()).new(ms(50), ask, servers).observer(&counters);
/// clock.run(race.first_ok())??;
///
/// let counts = counters.counts();
/// assert_eq!((counts.attempts, counts.extra, counts.failovers), (4, 3, 1));
/// assert_eq!(
///     counts.to_string(),
///     "1 races, 4 attempts (3 extra, 300.0 %), 1 won (1 by an extra attempt), \
///      1 started by a failure, 1 failed, 2 cancelled (210ms wasted)"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Races whose first attempt started.
    pub races: u64,
    /// Attempts that started: `races` plus `extra`.
    pub attempts: u64,
    /// Attempts that started and were not the first of their race, whatever their
    /// [`Cause`](crate::observe::Cause). This is the load that staggering adds.
    pub extra: u64,
    /// Extra attempts that a failure caused; see
    /// [`Cause::Failure`](crate::observe::Cause::Failure). The other extra attempts are hedges, or
    /// started with nothing running.
    pub failovers: u64,
    /// Attempts that committed; see `AttemptHandle::commit`.
    pub committed: u64,
    /// Attempts that won. Each attempt that counts towards a quorum is one.
    pub wins: u64,
    /// Attempts that won and were extra. In these races staggering helped.
    pub helped: u64,
    /// Attempts that finished in a race that is read as a stream.
    pub finished: u64,
    /// Attempts that finished and whose output was not accepted.
    pub failed: u64,
    /// Attempts that exceeded the attempt timeout and were dropped.
    pub timed_out: u64,
    /// Attempts that were dropped while they ran; see
    /// [`EventKind::Cancelled`](crate::observe::EventKind::Cancelled).
    pub cancelled: u64,
    /// The total time that the cancelled attempts ran. This is what the extra attempts cost.
    pub wasted: Duration,
    /// Attempts that had to wait because `max_in_flight` attempts were running; see
    /// [`Refusal::MaxInFlight`](crate::observe::Refusal::MaxInFlight).
    pub delayed_by_max_in_flight: u64,
    /// Attempts that the gate refused.
    pub refused_by_gate: u64,
    /// Attempts that the budget refused.
    pub refused_by_budget: u64,
}

impl Counts {
    /// Returns the extra attempts per race: 0.02 is 2 % more load. 0 if there was no race.
    #[must_use]
    pub fn extra_load(&self) -> f64 {
        share(self.extra, self.races)
    }

    /// Returns the share of wins by an extra attempt, from 0 to 1. 0 if nothing won.
    #[must_use]
    pub fn helped_share(&self) -> f64 {
        share(self.helped, self.wins)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.extra_load() * 100.0;
        write!(
            f,
            "{} races, {} attempts ({} extra, {percent:.1} %), {} won ({} by an extra attempt)",
            self.races, self.attempts, self.extra, self.wins, self.helped
        )?;
        let rest = [
            (self.failovers, "started by a failure"),
            (self.committed, "committed"),
            (self.finished, "finished"),
            (self.failed, "failed"),
            (self.timed_out, "timed out"),
            (self.delayed_by_max_in_flight, "delayed by max_in_flight"),
            (self.refused_by_gate, "refused by the gate"),
            (self.refused_by_budget, "refused by the budget"),
        ];
        for (number, name) in rest.into_iter().filter(|(number, _)| *number > 0) {
            write!(f, ", {number} {name}")?;
        }
        match self.cancelled {
            0 => Ok(()),
            cancelled => write!(f, ", {cancelled} cancelled ({:?} wasted)", self.wasted),
        }
    }
}

#[cfg(test)]
mod tests;
