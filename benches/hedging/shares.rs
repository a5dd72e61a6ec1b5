//! Which share of the requests servers get that fail, are slow, or answer "not found".

use std::time::Duration;

use race::{Moment, Verdict, test::VirtualClock};
use race_balance::{Balance, Lease};

use crate::report::Report;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const OK: Verdict = Verdict::Accept;
const DOWN: (Duration, Verdict) = (Duration::ZERO, Verdict::Retryable);

pub(crate) fn run(report: &mut Report) {
    println!("Shares: one attempt for each request, at equal distances; %");
    failing_at_once(report);
    after_a_failure(report);
    not_found(report);
    fast_slow_down(report);
    println!();
}

/// One of four servers fails at once: at most its share.
fn failing_at_once(report: &mut Report) {
    for (rate, latency) in [(50, 500 * MS), (500, 100 * MS)] {
        let mut traffic = Traffic::new(4);
        let counts = traffic.send(rate, 60 * SECOND, |server, _| match server {
            0 => DOWN,
            _ => (latency, OK),
        });
        let share = share(&counts, 0);
        let mark = report.within(0.0, share, 25.0, 1.0);
        println!("one of four fails at once, {rate}/s of {latency:?}: {share:.2}{mark}");
    }
}

/// One of three servers fails for a second. After one decay it has its share again.
fn after_a_failure(report: &mut Report) {
    let mut traffic = Traffic::new(3);
    traffic.send(50, 60 * SECOND, |_, _| (5 * MS, OK));
    traffic.send(50, SECOND, |server, _| match server {
        0 => DOWN,
        _ => (5 * MS, OK),
    });
    print!("one of three failed for a second, then by 10 s:");
    for window in 0..8 {
        let counts = traffic.send(50, 10 * SECOND, |_, _| (5 * MS, OK));
        let share = share(&counts, 0);
        let mark = match window {
            0 => "",
            _ => report.within(0.75, share, 100.0 / 3.0, 1.25),
        };
        print!(" {share:.0}{mark}");
    }
    println!();
}

/// Two servers of 5 and 100 ms; some answers are "not found".
fn not_found(report: &mut Report) {
    for every in [1_000, 200] {
        let counts = Traffic::new(2).send(50, 100 * SECOND, |server, request| {
            let latency = [5 * MS, 100 * MS][server];
            match request % every {
                0 => (latency, Verdict::Fatal),
                _ => (latency, OK),
            }
        });
        let share = share(&counts, 1);
        let mark = report.within(0.0, share, 0.5, 1.0);
        println!("the slow one of two, with one in {every} not found: {share:.2}{mark}");
    }
}

/// Three servers: one of 5 ms, one of 100 ms, and one that is down.
fn fast_slow_down(report: &mut Report) {
    let counts = Traffic::new(3).send(50, 120 * SECOND, |server, _| match server {
        0 => (5 * MS, OK),
        1 => (100 * MS, OK),
        _ => DOWN,
    });
    let shares = [0, 1, 2].map(|server| share(&counts, server));
    let marks = [1, 2].map(|server| report.within(0.0, shares[server], 0.5, 1.0));
    println!("fast, slow, down: {shares:.2?}{}", marks.concat());
}

struct Traffic {
    clock: VirtualClock,
    balance: Balance<usize, VirtualClock>,
    servers: usize,
    running: Vec<(Moment, Verdict, Lease<usize, VirtualClock>)>,
}

impl Traffic {
    fn new(servers: usize) -> Self {
        let clock = VirtualClock::new();
        let balance = Balance::timed_by(clock.clone(), 0..servers).seed(1);
        Self {
            clock,
            balance,
            servers,
            running: Vec::new(),
        }
    }

    /// Sends requests for some time, and counts how many each server gets. `end` says how long a
    /// server takes for a request, and what it answers.
    fn send(
        &mut self,
        rate: u32,
        time: Duration,
        end: impl Fn(usize, u128) -> (Duration, Verdict),
    ) -> Vec<u32> {
        let mut counts = vec![0; self.servers];
        let gap = SECOND / rate;
        for request in 1..=time.as_nanos() / gap.as_nanos() {
            self.pass(gap);
            let lease = self.balance.targets().pick();
            let server = *lease.endpoint();
            counts[server] += 1;
            let (takes, verdict) = end(server, request);
            match takes.is_zero() {
                true => lease.judged(verdict),
                false => self
                    .running
                    .push((self.clock.now() + takes, verdict, lease)),
            }
        }
        counts
    }

    /// Lets time pass, and ends the attempts that are due at their times.
    fn pass(&mut self, time: Duration) {
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

fn share(counts: &[u32], server: usize) -> f64 {
    100.0 * f64::from(counts[server]) / f64::from(counts.iter().sum::<u32>())
}
