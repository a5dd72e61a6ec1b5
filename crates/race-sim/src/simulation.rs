use std::{
    num::NonZero,
    panic,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use fastrand::Rng;
use race_core::Moment;

use crate::{Client, Report, Service, Setup, engine, service::seconds};

/// Servers, arrivals and the network between them and the clients.
///
/// Defaults:
///
/// | setting | default |
/// | --- | --- |
/// | [`servers`](Self::servers) | 16, all of the same speed |
/// | [`load`](Self::load) | 0.8 |
/// | [`losers`](Self::losers) | [`Losers::Cancelled`] |
/// | [`message_delay`](Self::message_delay) | zero |
/// | [`correlation`](Self::correlation) | 0 |
/// | [`clients`](Self::clients) | 1 |
/// | [`requests`](Self::requests) | 100,000, and a tenth of them as the warm-up |
/// | [`seeds`](Self::seeds) | 9 |
///
/// Arrivals, service times and slow periods depend on the seed alone, so two policies of one
/// simulation are compared under the same conditions.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(crate) service: Service,
    pub(crate) servers: usize,
    slow_servers: usize,
    slow_servers_factor: f64,
    pub(crate) slow_periods: Option<SlowPeriods>,
    load: f64,
    pulses: Vec<Pulse>,
    pub(crate) losers: Losers,
    pub(crate) message_delay: Duration,
    correlation: f64,
    pub(crate) clients: usize,
    pub(crate) requests: usize,
    pub(crate) warm_up: usize,
    seeds: usize,
}

/// What happens to an attempt whose reply is dropped. It decides whether copies help under load
/// (N. B. Shah, K. Lee and K. Ramchandran, *When Do Redundant Requests Reduce Latency?*, Allerton
/// 2013).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Losers {
    /// The server works on it to its end. Attempts that are tied are removed nevertheless.
    RunOn,
    /// The server is told after [`Simulation::message_delay`]. It stops the attempt, or removes it
    /// from its queue.
    Cancelled,
}

/// Periods in which a server is slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowPeriods {
    pub(crate) pause: Duration,
    pub(crate) length: Duration,
    pub(crate) factor: f64,
}

/// A time with another load.
#[derive(Clone, Copy, Debug)]
struct Pulse {
    from: Moment,
    until: Moment,
    load: f64,
}

impl Simulation {
    /// Creates a simulation with these service times.
    #[must_use]
    pub fn new(service: Service) -> Self {
        Self {
            service,
            servers: 16,
            slow_servers: 0,
            slow_servers_factor: 1.0,
            slow_periods: None,
            load: 0.8,
            pulses: Vec::new(),
            losers: Losers::Cancelled,
            message_delay: Duration::ZERO,
            correlation: 0.0,
            clients: 1,
            requests: 100_000,
            warm_up: 10_000,
            seeds: 9,
        }
    }

    /// Sets the number of servers. Each works on one job at a time, first in, first out.
    ///
    /// # Panics
    ///
    /// Panics if it is zero.
    #[must_use]
    pub fn servers(mut self, servers: usize) -> Self {
        assert!(
            servers > 0,
            "there are 0 servers: a request needs at least one"
        );
        self.servers = servers;
        self
    }

    /// Makes the first `count` servers slower by a factor; all if there are fewer. Default: none.
    ///
    /// # Panics
    ///
    /// Panics if `factor` is not above zero and finite.
    #[must_use]
    pub fn slow_servers(mut self, count: usize, factor: f64) -> Self {
        (self.slow_servers, self.slow_servers_factor) = (count, slower(factor));
        self
    }

    /// Gives each server slow periods. A job that begins in one takes `factor` times as long. The
    /// lengths of the periods and of the pauses between them are exponentially distributed with
    /// these means. No period begins after the last arrival. Default: none.
    ///
    /// # Panics
    ///
    /// Panics if a duration is zero, or `factor` is not above zero and finite.
    #[must_use]
    pub fn slow_periods(mut self, pause: Duration, length: Duration, factor: f64) -> Self {
        assert!(
            !pause.is_zero() && !length.is_zero(),
            "slow periods of {length:?}, with pauses of {pause:?}: neither may be zero"
        );
        let factor = slower(factor);
        self.slow_periods = Some(SlowPeriods {
            pause,
            length,
            factor,
        });
        self
    }

    /// Sets the rate of arrivals, which are a Poisson process: the share of the capacity of all
    /// servers that one attempt for each request takes. Slow servers have less capacity; slow
    /// periods do not count.
    ///
    /// # Panics
    ///
    /// Panics if it is not above zero and finite.
    #[must_use]
    pub fn load(mut self, load: f64) -> Self {
        self.load = checked(load);
        self
    }

    /// Sets another load for a time, counted from the start. Where pulses overlap, the one that was
    /// added first applies.
    ///
    /// # Panics
    ///
    /// Panics if `load` is not above zero and finite, or `until` is not after `from`.
    #[must_use]
    pub fn pulse(mut self, from: Duration, until: Duration, load: f64) -> Self {
        assert!(
            from < until,
            "a pulse from {from:?} to {until:?}: it must end after its start"
        );
        self.pulses.push(Pulse {
            from: from.into(),
            until: until.into(),
            load: checked(load),
        });
        self
    }

    /// Sets what becomes of an attempt whose reply is dropped.
    #[must_use]
    pub fn losers(mut self, losers: Losers) -> Self {
        self.losers = losers;
        self
    }

    /// Sets how long a cancellation, the answer of a probe, and the news that a tied attempt has
    /// begun take to arrive. Attempts and replies arrive at once: their time on the network is the
    /// same for all policies.
    #[must_use]
    pub fn message_delay(mut self, delay: Duration) -> Self {
        self.message_delay = delay;
        self
    }

    /// Sets the correlation between the attempts of a request in the slowness of [`Service::slow`]:
    /// the share of the requests of which all attempts are slow or none. The attempts of the others
    /// are slow each by its own chance. At 0 servers are slow, at 1 requests are slow; the S&X model
    /// has both (K. Gardner, M. Harchol-Balter and A. Scheller-Wolf, MASCOTS 2016).
    ///
    /// # Panics
    ///
    /// Panics if it is not between 0 and 1.
    #[must_use]
    pub fn correlation(mut self, correlation: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&correlation),
            "the correlation is {correlation}: it must be between 0 and 1"
        );
        self.correlation = correlation;
        self
    }

    /// Sets the number of clients. Each request belongs to one of them, drawn at random.
    ///
    /// # Panics
    ///
    /// Panics if it is zero.
    #[must_use]
    pub fn clients(mut self, clients: usize) -> Self {
        assert!(clients > 0, "there are 0 clients: a request needs one");
        self.clients = clients;
        self
    }

    /// Sets the number of requests, and how many of them come first and are left out of all
    /// figures.
    ///
    /// # Panics
    ///
    /// Panics unless there are more requests than those of the warm-up.
    #[must_use]
    pub fn requests(mut self, requests: usize, warm_up: usize) -> Self {
        assert!(
            warm_up < requests,
            "{warm_up} of {requests} requests are the warm-up: none is left to be measured"
        );
        (self.requests, self.warm_up) = (requests, warm_up);
        self
    }

    /// Sets the number of runs, each with a seed of its own, counted from 0.
    ///
    /// # Panics
    ///
    /// Panics if it is zero.
    #[must_use]
    pub fn seeds(mut self, seeds: usize) -> Self {
        assert!(seeds > 0, "there are 0 seeds: each run needs one");
        self.seeds = seeds;
        self
    }

    /// Runs it once with each seed, on as many threads as there are processors. `client` makes each
    /// of the clients.
    ///
    /// Make policies and counts inside of `client`. What is made outside is shared by all clients,
    /// seeds and threads: the figures then differ from run to run, and a policy that learns has
    /// learnt from other runs.
    ///
    /// # Panics
    ///
    /// Panics if `client` or a client panics, if a client waits for something that never comes, if
    /// a service time is negative or no number, or if a run takes longer than 584 years.
    #[must_use]
    pub fn run<C: Client>(
        &self,
        name: impl Into<String>,
        client: impl Fn(&Setup) -> C + Sync,
    ) -> Report {
        let next = AtomicUsize::new(0);
        let runs = Mutex::new(Vec::new());
        let worker = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= self.seeds {
                    break;
                }
                let run = engine::run(self, seed as u64, &client);
                let run =
                    run.unwrap_or_else(|error| panic!("a request is never answered: {error}"));
                let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                runs.push((seed, run));
            }
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let others = 1..threads.min(self.seeds);
            let others: Vec<_> = others.map(|_| scope.spawn(worker)).collect();
            worker();
            for other in others {
                other
                    .join()
                    .unwrap_or_else(|cause| panic::resume_unwind(cause));
            }
        });
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        runs.sort_by_key(|(seed, _)| *seed);
        let runs = runs.into_iter().map(|(_, run)| run).collect();
        Report::new(name.into(), runs)
    }

    /// Draws whether all attempts of a request are slow, or none. Returns `None` if each is by its
    /// own chance.
    pub(crate) fn shared_slowness(&self, rng: &mut Rng) -> Option<bool> {
        let is_slow = self.service.is_slow(rng);
        (rng.f64() < self.correlation).then_some(is_slow)
    }

    /// Returns how many times as long as a server of normal speed this one takes.
    pub(crate) fn slowness(&self, server: usize) -> f64 {
        match server < self.slow_servers {
            true => self.slow_servers_factor,
            false => 1.0,
        }
    }

    /// Returns when the next request arrives: after this many units of an arrival process that has
    /// one for each unit on average.
    pub(crate) fn arrival(&self, mut now: Moment, mut units: f64) -> Moment {
        let capacity: f64 = (0..self.servers).map(|it| 1.0 / self.slowness(it)).sum();
        let per_load = capacity / self.service.mean().as_secs_f64();
        loop {
            let (load, until) = self.load_at(now);
            let rate = load * per_load;
            let left = until.since(now).as_secs_f64();
            if until == Moment::NEVER || units <= rate * left {
                return now + seconds(units / rate);
            }
            units -= rate * left;
            now = until;
        }
    }

    /// Returns the load, and until when it applies.
    fn load_at(&self, now: Moment) -> (f64, Moment) {
        let current = |pulse: &&Pulse| (pulse.from..pulse.until).contains(&now);
        let load = self
            .pulses
            .iter()
            .find(current)
            .map_or(self.load, |pulse| pulse.load);
        let edges = self
            .pulses
            .iter()
            .flat_map(|pulse| [pulse.from, pulse.until]);
        let until = edges.filter(|edge| *edge > now).min();
        (load, until.unwrap_or(Moment::NEVER))
    }
}

#[track_caller]
fn slower(factor: f64) -> f64 {
    assert!(
        factor > 0.0 && factor.is_finite(),
        "a slow server takes {factor} times as long: it must be above zero and finite"
    );
    factor
}

#[track_caller]
fn checked(load: f64) -> f64 {
    assert!(
        load > 0.0 && load.is_finite(),
        "the load is {load}: it must be above zero and finite"
    );
    load
}
