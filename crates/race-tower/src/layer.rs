use std::{sync::Arc, time::Duration};

use race_core::{Budget, CatchUp, OnFailure, RaceOptions};
use tower_layer::Layer;

use crate::{CloneRequests, Copies, Hedge};

/// Races attempts of a request: if a service does not answer within the delay, or fails, the
/// request is sent again, and the first good answer wins. The other attempts are dropped at once.
///
/// Use it by its aliases with a timer, such as `HedgeLayer` or `tokio::HedgeLayer`.
///
/// - `T` is the timer;
/// - `D`, the delay: a `Duration`, another [`Policy`](race_core::Policy), an `Arc<Adaptive>`;
/// - `R`, the [`Rules`](crate::Rules);
/// - `O`, an [`Observer`](race_core::observe::Observer), which is cloned for each request.
///
/// # Defaults
///
/// | option | default |
/// | --- | --- |
/// | [`max_attempts`](Self::max_attempts) | 2 |
/// | [`rules`](Self::rules) | [`CloneRequests`]: every request is repeated, `Ok` is accepted |
/// | [`on_failure`](Self::on_failure) | [`OnFailure::IfLatest`]: a failure starts the next attempt |
/// | [`budget`](Self::budget), [`attempt_timeout`](Self::attempt_timeout), [`deadline`](Self::deadline) | none |
/// | [`min_gap`](Self::min_gap) | zero |
/// | [`observer`](Self::observer) | none |
///
/// [`options`](Self::options) sets several of them at once, from a [`RaceOptions`].
///
/// # Load
///
/// A hedge is a further request. A delay at the 95 % quantile of the latencies makes 5 % more
/// requests; when the service slows down for all of them it doubles the load, at the worst moment.
/// So set a [`budget`](Self::budget), or use `Adaptive`, which has one.
///
/// # Readiness
///
/// The service that answers `poll_ready` is the one that the first attempt calls. A further attempt
/// starts when a clone is ready; attempts that run do not wait for it, and it is charged and
/// counted only then. The deadline limits the wait.
///
/// The inner service must be [`Clone`], and its clones must become ready on their own. Put a
/// service that is not `Clone`, such as a `Balance`, behind `tower::buffer::Buffer`.
#[derive(Clone, Debug)]
pub struct GenericHedgeLayer<T, D, R = CloneRequests, O = ()> {
    pub(crate) timer: T,
    pub(crate) delay: D,
    pub(crate) rules: R,
    pub(crate) observer: O,
    pub(crate) options: Options,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) max_attempts: usize,
    /// Without `max_attempts`: the source of the race ends after as many requests.
    pub(crate) race: RaceOptions,
    pub(crate) budget: Option<Arc<Budget>>,
}

impl<T: Default, D> GenericHedgeLayer<T, D> {
    /// Hedges after a delay: a `Duration`, or another policy of a race. It is cloned for each
    /// request.
    #[must_use]
    pub fn new(delay: D) -> Self {
        Self::with_timer(T::default(), delay)
    }
}

impl<T, D> GenericHedgeLayer<T, D> {
    /// Like [`new`](Self::new), on a timer of your own. It is cloned for each request.
    #[must_use]
    pub fn with_timer(timer: T, delay: D) -> Self {
        Self {
            timer,
            delay,
            rules: CloneRequests,
            observer: (),
            options: Options {
                max_attempts: 2,
                race: RaceOptions::new(),
                budget: None,
            },
        }
    }
}

impl<T, D, R, O> GenericHedgeLayer<T, D, R, O> {
    /// Applies the options that are set in `options`; those that are not set stay as they are.
    ///
    /// The setters below change one option each; the last call for an option wins. What the options
    /// mean is documented at [`RaceOptions`]. Here a `max_attempts` or `max_in_flight` of 0 means 1,
    /// because a request is always sent.
    ///
    /// ```
    /// use std::time::Duration;
    /// use race_core::RaceOptions;
    /// use race_tower::HedgeLayer;
    ///
    /// let options = RaceOptions::new().max_attempts(3).deadline(Duration::from_secs(5));
    /// let layer = HedgeLayer::new(Duration::from_millis(50)).options(options);
    /// ```
    #[must_use]
    pub fn options(mut self, options: RaceOptions) -> Self {
        let mut race = options.or(&self.options.race);
        if let Some(max) = race.max_attempts.take() {
            self.options.max_attempts = max.max(1);
        }
        race.max_in_flight = race.max_in_flight.map(|max| max.max(1));
        self.options.race = race;
        self
    }

    /// Limits the attempts of a request, the first one included. Default: 2; 0 means 1.
    ///
    /// Two attempts are kept within the future of the request. More are kept on the heap, and then
    /// only those that were woken are polled.
    #[must_use]
    pub fn max_attempts(self, max: usize) -> Self {
        self.options(RaceOptions::new().max_attempts(max))
    }

    /// Sets [`RaceOptions::max_in_flight()`] of a request. Default: no limit; 0 means 1.
    #[must_use]
    pub fn max_in_flight(self, max: usize) -> Self {
        self.options(RaceOptions::new().max_in_flight(max))
    }

    /// Sets [`RaceOptions::on_failure()`]. Default: [`OnFailure::IfLatest`].
    #[must_use]
    pub fn on_failure(self, on_failure: OnFailure) -> Self {
        self.options(RaceOptions::new().on_failure(on_failure))
    }

    /// Sets [`RaceOptions::catch_up()`]. Default: [`CatchUp::Delay`].
    #[must_use]
    pub fn catch_up(self, catch_up: CatchUp) -> Self {
        self.options(RaceOptions::new().catch_up(catch_up))
    }

    /// Sets [`RaceOptions::min_gap()`]. Default: zero.
    #[must_use]
    pub fn min_gap(self, gap: Duration) -> Self {
        self.options(RaceOptions::new().min_gap(gap))
    }

    /// Sets [`RaceOptions::attempt_timeout()`], which counts from the call of the service. Default:
    /// none.
    #[must_use]
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.options(RaceOptions::new().attempt_timeout(timeout))
    }

    /// Sets [`RaceOptions::deadline()`] of a request. If answers came that were not good, the last
    /// one is returned then. Default: none.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.options(RaceOptions::new().deadline(deadline))
    }

    /// Limits how many hedges all requests together may start. Takes an `Arc<Budget>`, or an
    /// `Option` of one. Default: no limit.
    ///
    /// An attempt that starts because another one failed is free, unless the budget says
    /// [`charge_failover`](Budget::charge_failover): when a service fails every request, it gets
    /// twice as many.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// use race_core::Budget;
    /// use race_tower::HedgeLayer;
    ///
    /// // At most 5 % more requests, and 10 at once after a quiet time.
    /// let budget = Arc::new(Budget::percent(5).reserve(10));
    /// let layer = HedgeLayer::new(Duration::from_millis(50)).budget(budget);
    /// ```
    #[must_use]
    pub fn budget(mut self, budget: impl Into<Option<Arc<Budget>>>) -> Self {
        self.options.budget = budget.into();
        self
    }

    /// Sets how requests are repeated and answers judged. Default: [`CloneRequests`].
    #[must_use]
    pub fn rules<R2>(self, rules: R2) -> GenericHedgeLayer<T, D, R2, O> {
        GenericHedgeLayer {
            timer: self.timer,
            delay: self.delay,
            rules,
            observer: self.observer,
            options: self.options,
        }
    }

    /// Reports events to an observer, such as an `Arc<Counters>`. Each request has a clone of it.
    ///
    /// With `Traced` (feature `tracing`), each attempt is called and polled in its own span
    /// `attempt`, within a span `race`, within the span in which the request is first polled.
    #[must_use]
    pub fn observer<O2>(self, observer: O2) -> GenericHedgeLayer<T, D, R, O2> {
        GenericHedgeLayer {
            timer: self.timer,
            delay: self.delay,
            rules: self.rules,
            observer,
            options: self.options,
        }
    }

    /// Hedges over several services, such as [`Replicas`](crate::Replicas) or the `Balanced` of
    /// `race-balance`: each attempt goes to another one.
    pub fn over<B>(self, backends: B) -> Hedge<B, T, D, R, O> {
        Hedge::new(backends, self)
    }
}

impl<S, T, D, R, O> Layer<S> for GenericHedgeLayer<T, D, R, O>
where
    S: Clone, // every attempt calls a clone: put a service that is not `Clone` behind a `Buffer`
    T: Clone,
    D: Clone,
    R: Clone,
    O: Clone,
{
    type Service = Hedge<Copies<S>, T, D, R, O>;

    fn layer(&self, inner: S) -> Self::Service {
        Hedge::new(Copies::new(inner), self.clone())
    }
}
