use std::time::Duration;

use race_balance::{Balance, Lease};
use race_core::{Moment, Verdict, test::VirtualClock};

pub(crate) type Servers = Balance<usize, VirtualClock>;

/// How an attempt ends: after this time, with this verdict.
pub(crate) type End = (Duration, Verdict);

/// Requests at equal distances, each with one attempt, for which a function says how it ends.
pub(crate) struct Traffic {
    pub(crate) clock: VirtualClock,
    pub(crate) balance: Servers,
    running: Vec<(Moment, Verdict, Lease<usize, VirtualClock>)>,
}

impl Traffic {
    pub(crate) fn new(servers: usize, seed: u64) -> Self {
        let clock = VirtualClock::new();
        let balance = Balance::timed_by(clock.clone(), 0..servers).seed(seed);
        Self {
            clock,
            balance,
            running: Vec::new(),
        }
    }

    /// Sends requests at a rate for some time, and counts how many each server gets.
    pub(crate) fn send(
        &mut self,
        per_second: u32,
        time: Duration,
        mut end: impl FnMut(usize) -> End,
    ) -> Vec<u32> {
        let mut counts = vec![0; self.servers()];
        let gap = Duration::from_secs(1) / per_second;
        for _ in 0..time.as_nanos() / gap.as_nanos() {
            self.advance(gap);
            let lease = self.balance.targets().pick();
            let server = *lease.endpoint();
            counts[server] += 1;
            let (takes, verdict) = end(server);
            match takes.is_zero() {
                true => lease.judged(verdict),
                false => self
                    .running
                    .push((self.clock.now() + takes, verdict, lease)),
            }
        }
        counts
    }

    fn servers(&self) -> usize {
        let mut servers = 0;
        self.balance.inspect(|_, _| servers += 1);
        servers
    }

    /// Ends the attempts that are due, each at its time.
    fn advance(&mut self, time: Duration) {
        let until = self.clock.now() + time;
        self.running.sort_by_key(|(at, ..)| *at);
        let due = self.running.partition_point(|(at, ..)| *at <= until);
        for (at, verdict, lease) in self.running.drain(..due) {
            self.clock.advance(at.since(self.clock.now()));
            lease.judged(verdict);
        }
        self.clock.advance(until.since(self.clock.now()));
    }
}

/// Returns the share of one server in percent.
pub(crate) fn share(counts: &[u32], server: usize) -> f64 {
    100.0 * f64::from(counts[server]) / f64::from(counts.iter().sum::<u32>())
}
