use core::{fmt, time::Duration};

/// What [`Counters`](crate::Counters) have counted, at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Races whose first attempt has started.
    pub races: u64,
    /// Attempts that have started.
    pub attempts: u64,
    /// Those of them that were not the first of their race.
    pub extra: u64,
    /// Attempts that have won; in a quorum, each that it is made of.
    pub wins: u64,
    /// Those of them that were extra: there the staggering helped.
    pub helped: u64,
    /// Attempts that have finished in a race that was read as a stream, or drained after its end.
    pub finished: u64,
    /// Attempts that have finished and were not accepted.
    pub failed: u64,
    /// Attempts that ran as long as one may, and were dropped.
    pub timed_out: u64,
    /// Attempts that were dropped while they ran, since the race was over.
    pub cancelled: u64,
    /// How long the cancelled ones had run, all together: what the extra attempts cost.
    pub wasted: Duration,
    /// Attempts that the bound held up; see [`Suppressed::Bound`](crate::Suppressed::Bound).
    pub held_by_bound: u64,
    /// Starts that the gate refused.
    pub stopped_by_gate: u64,
    /// Starts that the budget refused.
    pub stopped_by_budget: u64,
}

impl Counts {
    /// How many extra attempts came on each race: 0.02 is two percent more load. 0 without a race.
    #[must_use]
    pub fn extra_load(&self) -> f64 {
        share(self.extra, self.races)
    }

    /// Which part of the wins was an extra attempt's, from 0 to 1. 0 without a win.
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

/// One line. What did not occur is left out of its end.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.extra_load() * 100.0;
        write!(
            f,
            "{} races, {} attempts ({} extra, {percent:.1} %), {} won ({} by an extra attempt)",
            self.races, self.attempts, self.extra, self.wins, self.helped
        )?;
        let rest = [
            (self.finished, "finished"),
            (self.failed, "failed"),
            (self.timed_out, "timed out"),
            (self.held_by_bound, "held up by the bound"),
            (self.stopped_by_gate, "stopped by the gate"),
            (self.stopped_by_budget, "stopped by the budget"),
        ];
        for (number, what) in rest.into_iter().filter(|(number, _)| *number > 0) {
            write!(f, ", {number} {what}")?;
        }
        match self.cancelled {
            0 => Ok(()),
            cancelled => write!(f, ", {cancelled} cancelled after {:?} in all", self.wasted),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn nothing_counted_is_no_share_of_nothing() {
        let counts = Counts::default();
        assert_eq!((counts.extra_load(), counts.helped_share()), (0.0, 0.0));
        let line = "0 races, 0 attempts (0 extra, 0.0 %), 0 won (0 by an extra attempt)";
        assert_eq!(counts.to_string(), line);
    }

    #[test]
    fn it_is_told_in_one_line() {
        let counts = Counts {
            races: 1_000,
            attempts: 1_020,
            extra: 20,
            wins: 990,
            helped: 15,
            failed: 13,
            cancelled: 17,
            wasted: Duration::from_millis(1_250),
            stopped_by_budget: 4,
            ..Counts::default()
        };
        assert_eq!(
            counts.to_string(),
            "1000 races, 1020 attempts (20 extra, 2.0 %), 990 won (15 by an extra attempt), 13 failed, \
             4 stopped by the budget, 17 cancelled after 1.25s in all"
        );
        assert_eq!(counts.extra_load(), 0.02);
    }
}
