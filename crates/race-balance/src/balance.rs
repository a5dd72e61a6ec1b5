use std::{
    error, fmt, mem,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use race_core::{Moment, Verdict, observe::Clock};

use crate::{
    Ejection, Monotonic, Targets,
    endpoint::{Endpoint, Learnt},
    label::Label,
    order::{Order, is_suspended},
};

/// The endpoints of one service, and their statistics.
///
/// Share one among all requests to the service: clones share the endpoints and the statistics.
/// [`targets`](Self::targets) returns those of one race.
///
/// # Defaults
///
/// | option | default |
/// | --- | --- |
/// | [`choices`](Self::choices) | 8; a balance of at most 8 endpoints compares all of them |
/// | [`decay`](Self::decay) | 10 s |
/// | [`failure_penalty`](Self::failure_penalty) | 1 s |
/// | [`ejection`](Self::ejection) | after 5 failures in a row, for 30 s, at most 300 s |
/// | [`seed`](Self::seed) | random |
/// | `label` (feature `tracing`) | none: the endpoint of an attempt is not recorded in its span |
/// | clock | [`Monotonic`] |
pub struct Balance<E, C = Monotonic> {
    endpoints: Arc<RwLock<Endpoints<E>>>,
    /// Held during a replacement.
    replacing: Arc<Mutex<()>>,
    pub(crate) clock: C,
    pub(crate) settings: Settings,
    pub(crate) label: Label<E>,
    /// The number of draws, by which each has its own random numbers.
    draws: Arc<AtomicU64>,
    seed: u64,
}

/// At least one endpoint.
pub(crate) type Endpoints<E> = Arc<[Arc<Endpoint<E>>]>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) decay: Duration,
    pub(crate) failure_penalty: Duration,
    pub(crate) ejection: Ejection,
    pub(crate) choices: usize,
}

/// The statistics of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The learnt latency, however old it is. `None` before the first attempt has ended; cancelled
    /// attempts raise it, and after a failed one it is at least
    /// [`failure_penalty`](Balance::failure_penalty) for one [`decay`](Balance::decay) and until
    /// the next success.
    pub latency: Option<Duration>,
    /// The number of attempts in flight.
    pub in_flight: usize,
    /// Whether the endpoint is [ejected](Balance::ejection): it gets no attempts, or one at a time
    /// until one succeeds. `false` while all endpoints are used since more than half fail.
    pub is_ejected: bool,
    /// Whether the endpoint asked for a pause that has not passed: see
    /// [`Lease::try_run_by`](crate::Lease::try_run_by).
    pub is_pushed_back: bool,
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
                ejection: Ejection::default(),
                choices: 8,
            },
            label: Label::none(),
            draws: Arc::default(),
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
    /// A failure counts for one [`decay`](Self::decay). After that the learnt latency applies again. If all
    /// endpoints fail now and then, choose a penalty of a few times the usual latency: with a much
    /// longer one, slow and fast endpoints look alike. An endpoint that keeps failing is
    /// [ejected](Self::ejection).
    #[must_use]
    pub fn failure_penalty(mut self, penalty: Duration) -> Self {
        self.settings.failure_penalty = penalty;
        self
    }

    /// Sets when an endpoint that keeps failing gets no more requests, and for how long. Default:
    /// after 5 failures in a row, for 30 s × the number of ejections in a row, at most 300 s.
    ///
    /// After that time the next request is a trial. One runs at a time, until one succeeds; if it
    /// fails, the endpoint is ejected for longer. A cancelled trial is no outcome, and another one
    /// may start. An outcome of an attempt that began before the ejection is ignored.
    ///
    /// At most half of the endpoints are ejected, rounded down, and so never the only one. If more
    /// fail, all are used, without trials: the cause is likely to be elsewhere. A race goes to an ejected endpoint
    /// only if none is in rotation: until then it uses that of an earlier attempt again.
    #[must_use]
    pub fn ejection(mut self, ejection: Ejection) -> Self {
        self.settings.ejection = ejection;
        self
    }

    /// Sets how many random endpoints are compared for an attempt. Default: 8; a balance of at most
    /// 8 endpoints compares all of them. 0 means 1.
    ///
    /// With two choices of three endpoints, a slow one gets a request each time that it is drawn
    /// with one that is down, although the fast one is idle. Equal costs are decided at random, and
    /// a hundred clients that compare eight do not move together, as each has learnt the latencies
    /// of its own requests.
    #[must_use]
    pub fn choices(mut self, choices: usize) -> Self {
        self.settings.choices = choices.max(1);
        self
    }

    /// Sets the seed of the choices, for tests that repeat.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Records the endpoint of each attempt in the field `endpoint` of its span, with what `label`
    /// writes: [`fmt::Debug::fmt`], or a function of your own, such as
    /// `|slot, f| fmt::Display::fmt(slot.key(), f)` for a `Slot`. Default: none.
    ///
    /// The span is that of the observer `Traced` of a race that
    /// [polls its attempts in spans](race_core::GenericRace::poll_in_spans), as the layers of
    /// `race-tower` do. The future of a lease ([`Targets::run`] and its like) records its endpoint
    /// when it is first polled. In another span than `attempt`, such as within a spawned task, it
    /// records nothing. An endpoint is written only if a subscriber asks for it.
    ///
    /// ```
    /// # use std::{fmt, io, time::Duration};
    /// # use race_balance::Balance;
    /// # use race_core::observe::Traced;
    /// # use race_thread::Race;
    /// # async fn fetch(host: &str) -> io::Result<String> { Ok(host.to_owned()) }
    /// let balance = Balance::new(["one.example", "two.example"]).label(fmt::Display::fmt);
    /// let targets = balance.targets();
    /// let race = Race::from_fn(Duration::from_millis(50), |_| targets.try_run(fetch))
    ///     .max_attempts(2)
    ///     .observer(Traced::new())
    ///     .poll_in_spans();
    /// let won = pollster::block_on(race.first_ok())?;
    /// # Ok::<(), race_core::RaceError<usize, io::Error>>(())
    /// ```
    #[cfg(feature = "tracing")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
    #[must_use]
    pub fn label(mut self, label: fn(&E, &mut fmt::Formatter<'_>) -> fmt::Result) -> Self {
        self.label = Label::by(label);
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
    /// their statistics. Races that have begun continue with the endpoints they began with.
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
        let (endpoints, now) = (self.endpoints(), self.clock.read());
        let is_suspended = is_suspended(&endpoints);
        for endpoint in endpoints.iter() {
            let Learnt { estimate, health } = endpoint.learnt();
            let load = Load {
                latency: estimate.latest(),
                in_flight: endpoint.in_flight(),
                is_ejected: health.is_failing() && !is_suspended,
                is_pushed_back: health.pushed_back_until(now).is_some(),
            };
            with(&endpoint.value, load);
        }
    }

    /// Returns `classify` for the race, whose attempts run by
    /// [`try_run_by`](Targets::try_run_by) with the same function. [`Verdict::NotBefore`] becomes
    /// [`Verdict::Retryable`] if another endpoint is left, which did not ask for a pause. If all
    /// did, the race waits for the shortest pause that remains.
    ///
    /// ```
    /// # use std::{io, time::Duration};
    /// # use race_balance::Balance;
    /// # use race_core::Verdict;
    /// # use race_thread::Race;
    /// # async fn fetch(host: &str) -> io::Result<String> { Ok(host.to_owned()) }
    /// fn classify(error: &io::Error) -> Verdict {
    ///     match error.kind() {
    ///         io::ErrorKind::NotFound => Verdict::Fatal, // every endpoint answers the same
    ///         io::ErrorKind::WouldBlock => Verdict::NotBefore(Duration::from_secs(1)),
    ///         _ => Verdict::Retryable,
    ///     }
    /// }
    ///
    /// let balance = Balance::new(["one.example", "two.example"]);
    /// let targets = balance.targets();
    /// let attempt = |_| targets.try_run_by(classify, fetch);
    /// let race = Race::from_fn(Duration::from_millis(50), attempt).max_attempts(2);
    /// let won = pollster::block_on(race.first_ok_by(balance.judge(classify)))?;
    /// # Ok::<(), race_core::RaceError<usize, io::Error>>(())
    /// ```
    pub fn judge<X, F>(&self, classify: F) -> impl Fn(&X) -> Verdict + Clone + use<E, C, X, F>
    where
        F: Fn(&X) -> Verdict + Clone,
        C: Clone,
    {
        let balance = self.clone();
        move |error| balance.for_race(classify(error))
    }

    /// Returns what the verdict on the attempt of one endpoint means for a race over all of them.
    pub(crate) fn for_race(&self, verdict: Verdict) -> Verdict {
        let Verdict::NotBefore(_) = verdict else {
            return verdict;
        };
        let (endpoints, now) = (self.endpoints(), self.clock.read());
        let returns = || {
            let returns = endpoints.iter().map(|it| it.pushed_back_until(now));
            returns.map(|it| it.map(|until| until.since(now)))
        };
        match (returns().flatten().min(), returns().all(|it| it.is_some())) {
            // The endpoint was replaced, or its pause is over, or the attempt did not run at one.
            (None, _) if endpoints.len() > 1 => Verdict::Retryable,
            (None, _) => verdict,
            (Some(_), false) => Verdict::Retryable,
            (Some(shortest), true) => Verdict::NotBefore(shortest),
        }
    }

    /// Returns the order in which the next attempt of a race tries endpoints.
    pub(crate) fn order<'a>(
        &self,
        endpoints: &'a [Arc<Endpoint<E>>],
        used: &[Arc<Endpoint<E>>],
        now: Moment,
    ) -> Order<'a, E> {
        Order::new(endpoints, used, self.settings, now, self.draws())
    }

    /// Returns random numbers for one choice. Threads draw them without a lock.
    fn draws(&self) -> Rng {
        let choice = self.draws.fetch_add(1, Ordering::Relaxed);
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
            label: self.label,
            draws: self.draws.clone(),
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
