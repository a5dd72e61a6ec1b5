use std::{
    error, fmt, mem,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use race_core::{Clock, Moment};

use crate::{Monotonic, Targets, endpoint::Endpoint};

/// The endpoints of one service, and their statistics.
///
/// Share one among all requests to the service: clones share the endpoints and the statistics.
/// [`targets`](Self::targets) returns those of one race.
///
/// Defaults: a [`decay`](Self::decay) of 10 s, a [`failure_penalty`](Self::failure_penalty) of 1 s,
/// a random [`seed`](Self::seed), and the clock [`Monotonic`].
pub struct Balance<E, C = Monotonic> {
    endpoints: Arc<RwLock<Endpoints<E>>>,
    /// Held during a replacement.
    replacing: Arc<Mutex<()>>,
    pub(crate) clock: C,
    pub(crate) settings: Settings,
    /// The number of choices, by which each draws its own random numbers.
    choices: Arc<AtomicU64>,
    seed: u64,
}

/// At least one endpoint.
pub(crate) type Endpoints<E> = Arc<[Arc<Endpoint<E>>]>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) decay: Duration,
    pub(crate) failure_penalty: Duration,
}

/// The statistics of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The learnt latency, however old it is. `None` before the first attempt has ended; cancelled
    /// attempts raise it, and a failed one sets it to at least
    /// [`failure_penalty`](Balance::failure_penalty).
    pub latency: Option<Duration>,
    /// The number of attempts in flight.
    pub in_flight: usize,
}

/// [`Balance::replace`] was given no endpoints. The current ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoEndpoints;

impl<E> Balance<E> {
    /// Creates a balance over different endpoints, such as addresses or clients.
    ///
    /// # Panics
    ///
    /// Panics if there are no endpoints.
    #[must_use]
    pub fn new(endpoints: impl IntoIterator<Item = E>) -> Self {
        Self::timed_by(Monotonic::new(), endpoints)
    }
}

impl<E, C: Clock> Balance<E, C> {
    /// Like [`new`](Balance::new), with a clock of your own, such as a timer. It should be finer than
    /// the latencies: a coarse one cannot tell fast endpoints apart.
    ///
    /// # Panics
    ///
    /// Panics if there are no endpoints.
    #[must_use]
    pub fn timed_by(clock: C, endpoints: impl IntoIterator<Item = E>) -> Self {
        let endpoints = endpoints.into_iter().map(|it| Arc::new(Endpoint::new(it)));
        let endpoints: Endpoints<E> = endpoints.collect();
        assert!(
            !endpoints.is_empty(),
            "`Balance` has no endpoints: it needs at least one"
        );
        Self {
            endpoints: Arc::new(RwLock::new(endpoints)),
            replacing: Arc::default(),
            clock,
            settings: Settings {
                decay: Duration::from_secs(10),
                failure_penalty: Duration::from_secs(1),
            },
            choices: Arc::default(),
            seed: fastrand::u64(..),
        }
    }

    /// Sets how long a latency is remembered: after this time its weight has fallen to 37 %, and
    /// after three times as long it is forgotten. A thousand times as long as a request takes is
    /// good, and the exact time matters little: an endpoint whose latency is forgotten counts as
    /// fast as the other one, not as faster. With zero, the attempts in flight decide alone.
    #[must_use]
    pub fn decay(mut self, decay: Duration) -> Self {
        self.settings.decay = decay;
        self
    }

    /// Sets the latency that a failed attempt counts as, if it took less, so that an endpoint that
    /// fails at once does not look fast. See [`Lease::try_run`](crate::Lease::try_run).
    ///
    /// A failure outweighs latencies for about one [`decay`](Self::decay). If all endpoints fail now
    /// and then, choose a penalty of a few times the usual latency: with a much longer one, slow and
    /// fast endpoints look alike.
    #[must_use]
    pub fn failure_penalty(mut self, penalty: Duration) -> Self {
        self.settings.failure_penalty = penalty;
        self
    }

    /// Sets the seed of the choices, for tests that repeat.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Returns the targets of one race. Call it once for each race.
    #[must_use]
    pub fn targets(&self) -> Targets<E, C>
    where
        C: Clone,
    {
        Targets::new(self.clone(), self.endpoints())
    }

    /// Replaces the endpoints, for example after a name was resolved again. Those that stay keep
    /// their statistics. Races that have begun go on with the endpoints they began with.
    ///
    /// # Errors
    ///
    /// Returns an error and keeps the endpoints if there are no new ones.
    pub fn replace(&self, endpoints: impl IntoIterator<Item = E>) -> Result<(), NoEndpoints>
    where
        E: PartialEq,
    {
        let endpoints: Vec<E> = endpoints.into_iter().collect();
        let replacing = self
            .replacing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut before = self.endpoints().to_vec();
        let mut superfluous = Vec::new();
        let kept = |value: E| {
            let same = before.iter().position(|endpoint| endpoint.value == value);
            match same {
                Some(same) => {
                    superfluous.push(value);
                    before.swap_remove(same)
                }
                None => Arc::new(Endpoint::new(value)),
            }
        };
        let endpoints: Endpoints<E> = endpoints.into_iter().map(kept).collect();
        if endpoints.is_empty() {
            return Err(NoEndpoints);
        }
        let mut current = self
            .endpoints
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let replaced = mem::replace(&mut *current, endpoints);
        // Endpoints are dropped without a lock: that can run any code.
        drop((current, replacing));
        drop((before, replaced, superfluous));
        Ok(())
    }

    /// Calls a function with each endpoint and its statistics, for metrics.
    pub fn inspect(&self, mut with: impl FnMut(&E, Load)) {
        for endpoint in self.endpoints().iter() {
            let load = Load {
                latency: endpoint.estimate(|estimate| estimate.average()),
                in_flight: endpoint.in_flight(),
            };
            with(&endpoint.value, load);
        }
    }

    /// Chooses the better of two random endpoints that are free. Returns `None` if none is free, or
    /// if they cease to be meanwhile.
    pub(crate) fn choose<'a>(
        &self,
        endpoints: &'a [Arc<Endpoint<E>>],
        is_free: impl Fn(&Arc<Endpoint<E>>) -> bool,
        now: Moment,
    ) -> Option<&'a Arc<Endpoint<E>>> {
        let free = || endpoints.iter().filter(|endpoint| is_free(endpoint));
        let mut draws = self.draws();
        match free().count() {
            0 => None,
            1 => free().next(),
            count => {
                let first = draws.usize(..count);
                let second = (first + 1 + draws.usize(..count - 1)) % count;
                let (first, second) = (free().nth(first)?, free().nth(second)?);
                let cost = |it: &Endpoint<E>| it.cost(now, self.settings.decay);
                match cost(second).is_below(&cost(first)) {
                    true => Some(second),
                    false => Some(first),
                }
            }
        }
    }

    /// Returns random numbers for one choice. Threads draw them without a lock.
    fn draws(&self) -> Rng {
        let choice = self.choices.fetch_add(1, Ordering::Relaxed);
        Rng::with_seed(self.seed ^ choice.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl<E, C> Balance<E, C> {
    pub(crate) fn endpoints(&self) -> Endpoints<E> {
        let endpoints = self.endpoints.read();
        endpoints.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A clone shares the endpoints.
impl<E, C: Clone> Clone for Balance<E, C> {
    fn clone(&self) -> Self {
        Self {
            endpoints: self.endpoints.clone(),
            replacing: self.replacing.clone(),
            clock: self.clock.clone(),
            settings: self.settings,
            choices: self.choices.clone(),
            seed: self.seed,
        }
    }
}

impl<E: fmt::Debug, C> fmt::Debug for Balance<E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = self.endpoints();
        f.debug_struct("Balance")
            .field("endpoints", &endpoints)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for NoEndpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no endpoints are given: the current ones are kept")
    }
}

impl error::Error for NoEndpoints {}
