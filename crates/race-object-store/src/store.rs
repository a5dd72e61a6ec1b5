use std::{sync::Arc, time::Duration};

use object_store::Error;
use race_core::{Budget, CatchUp, OnFailure, RaceOptions, Verdict};

use crate::{Delays, classify::Classifier};

/// An object store that hedges the reads of another one: if a read is not answered within the
/// delay, or fails, it is sent again, and the first answer wins. The other attempts are dropped at
/// once.
///
/// Use it by its aliases with a timer, such as `HedgedStore` or `tokio::HedgedStore`.
///
/// - `S` is the inner store: any [`ObjectStore`](object_store::ObjectStore), also an
///   `Arc<dyn ObjectStore>`;
/// - `T`, the timer;
/// - `D`, the [`Delays`]: a `Duration`, another [`Policy`](race_core::Policy),
///   `AdaptiveDelays`;
/// - `O`, an [`Observer`](race_core::observe::Observer), which is cloned for each read, and for
///   each stall of a body.
///
/// # What is hedged
///
/// | operation | decided |
/// | --- | --- |
/// | `get`, `get_range`, `get_opts`: a stream | at its first byte, or at its end if it is empty |
/// | `get`, `get_range`, `get_opts`: a file | when it is returned |
/// | `head` | when it is returned |
/// | `get_ranges` | when it is returned, as a whole |
/// | puts, multipart uploads, deletes, copies, renames, lists | not hedged; passed on unchanged |
///
/// Reads with odd ranges are passed on unchanged, too: a get whose range is empty or inverted,
/// which stores reject, and a `get_ranges` without ranges, with empty ones only, or with one that
/// is inverted.
///
/// The attempt that wins hands over its live body, with the chunk it has read put back in front. No
/// timeout of this store applies to it. If it breaks off, its error is for the caller, unless a
/// continuation takes over. An error before the first byte is a failure of its attempt.
///
/// # Bodies that stall
///
/// A body stalls if it has no byte for the delay while its reader waits for one. Then a
/// *continuation* starts: a GET for the rest of the range. Both continue from the same offset. The
/// first one with a byte stays and is watched in turn; the other is dropped at once. `get_ranges`
/// and files have no such body. [`hedge_bodies(false)`](Self::hedge_bodies) turns it off.
///
/// **A slow reader is no stall.** The reader waits from a poll that is pending until its task is
/// woken. Time from a wake to the next poll does not count, and a byte that is there when the
/// reader comes back is taken, however late that is.
///
/// **Versions are never mixed.** A continuation asks with `if_match` for the ETag of the first
/// answer, and for its `version`. The conditions of the caller, which the first answer has met, are
/// not repeated; the extensions are. Its answer must have the same ETag, version, size and range.
/// If it has not, or is an error, the first body continues alone. After an answer of another
/// version, and after an error that is an answer, such as `Precondition`, the body has no further
/// continuation.
///
/// | the first answer has | continuations |
/// | --- | --- |
/// | a strong ETag | yes |
/// | a version, and a weak ETag or none | yes, by `version` alone. A store that ignores it is noticed if its answer has another version or none |
/// | neither | none |
///
/// A store that asks for a version may need a permission of its own, such as `s3:GetObjectVersion`.
/// If it is missing, the body is read without a hedge.
///
/// **Errors.** An error of a continuation never fails the read. If the body breaks off, or ends too
/// early, while a continuation is running, the continuation takes over. If that fails as well, the
/// caller gets the error of the body. One that never answers would hold that error back for ever,
/// unless there is an [`attempt_timeout`](Self::attempt_timeout), a [`deadline`](Self::deadline), or a
/// timeout of the inner store.
///
/// A continuation is a hedge, under the options of the store:
///
/// | option | for a body |
/// | --- | --- |
/// | delays | those of the class of the read. Continuation 1 starts after the delay of attempt 1, and so on; `None` starts no more |
/// | [`max_attempts`](Self::max_attempts) | the continuations of a body are limited to one less: one by default |
/// | [`max_in_flight`](Self::max_in_flight) | limits the body and its continuations that run at once; with 1 there is none |
/// | [`min_gap`](Self::min_gap) | the shortest stall |
/// | [`attempt_timeout`](Self::attempt_timeout), [`deadline`](Self::deadline) | the shorter one limits the time of a continuation to its first byte; observers see a failure. Neither limits a body that is read |
/// | [`budget`](Self::budget), that of `AdaptiveDelays` | pays for each continuation; a body pays nothing in. After a refusal the body waits for its next byte |
/// | [`on_failure`](Self::on_failure), [`catch_up`](Self::catch_up) | no effect: only a stall starts a continuation |
/// | [`classify`](Self::classify) | an error that is [`Verdict::Retryable`] leaves further continuations possible |
/// | [`observer`](Self::observer) | each stall is a race with attempts from 1 on: `Counters` count continuations as extra attempts, and one that has the next byte as a win. `AdaptiveDelays` learn how long they take to their first byte |
///
/// The end of a body is not hedged: after the last byte, an error may follow, such as a wrong
/// checksum. Empty chunks of a body that is watched are left out.
///
/// # Errors
///
/// An error that every attempt would get, such as `NotFound`, is an answer: it wins the read, and
/// is returned as it is (see [`classify`](crate::classify)). Observers count a win, and
/// `AdaptiveDelays` learn its latency. Any other error is a failure and starts the next attempt. If
/// all attempts fail, the last error is returned. If all time out, or the deadline passes, the
/// error is a `Generic` one whose source is a [`TimeoutError`](crate::TimeoutError).
///
/// Stores report some errors that every attempt gets as `Generic`, such as that of a range which
/// begins after the end of the object. They look like any other failure, so such a read is sent
/// again.
///
/// Stores that speak HTTP retry requests themselves, with backoff: that is part of an attempt. An
/// [`attempt_timeout`](Self::attempt_timeout) includes those retries. An attempt fails when they
/// are used up.
///
/// # Defaults
///
/// | option | default |
/// | --- | --- |
/// | [`max_attempts`](Self::max_attempts) | 2 |
/// | [`classify`](Self::classify) | [`classify`](crate::classify) |
/// | [`on_failure`](Self::on_failure) | [`OnFailure::IfLatest`]: a failure starts the next attempt |
/// | [`budget`](Self::budget), [`attempt_timeout`](Self::attempt_timeout), [`deadline`](Self::deadline) | none |
/// | [`min_gap`](Self::min_gap) | zero |
/// | [`observer`](Self::observer) | none |
/// | [`hedge_bodies`](Self::hedge_bodies) | `true` |
///
/// [`options`](Self::options) sets several of them at once, from a [`RaceOptions`].
///
/// # Load
///
/// A hedge is a further request, which is paid for. A hedge of a `get_ranges` is up to as many
/// requests as there are ranges. A delay at the 95 % quantile of the latencies makes 5 % more
/// requests; when the store slows down for all of them it doubles the load, at the worst moment. So
/// set a [`budget`](Self::budget), or use `AdaptiveDelays`, which have budgets.
///
/// Budgets limit hedges. An attempt that follows an error is a fail-over, and free by default: a
/// read survives a failure whatever the budget. **In an outage each read is then sent
/// [`max_attempts`](Self::max_attempts) times**, after the retries of the store itself.
///
/// - A [`budget`](Self::budget) with [`Budget::charge_failover`] limits fail-overs, too. The
///   budgets of `AdaptiveDelays` do not.
/// - [`OnFailure::Wait`] lets a fail-over wait for the delay. It is still free.
/// - [`Verdict::NoMoreStarts`] from [`classify`](Self::classify) turns fail-overs off. Attempts
///   that run can still win.
///
/// # Cancel safety
///
/// Dropping the future of a read drops all its attempts. Dropping a body drops its continuations.
pub struct GenericHedgedStore<S, T, D, O = ()> {
    /// Shared with the bodies that are being read.
    pub(crate) inner: Arc<S>,
    pub(crate) timer: T,
    pub(crate) delays: Arc<D>,
    pub(crate) observer: O,
    pub(crate) options: Options,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) race: RaceOptions,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) classify: Classifier,
    pub(crate) hedge_bodies: bool,
}

/// A clone shares the inner store and the delays.
impl<S, T: Clone, D, O: Clone> Clone for GenericHedgedStore<S, T, D, O> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            timer: self.timer.clone(),
            delays: self.delays.clone(),
            observer: self.observer.clone(),
            options: self.options.clone(),
        }
    }
}

impl<S, T: Default, D: Delays<T>> GenericHedgedStore<S, T, D> {
    /// Hedges the reads of a store after a delay: a `Duration`, or other [`Delays`].
    #[must_use]
    pub fn new(inner: S, delays: D) -> Self {
        Self::with_timer(inner, T::default(), delays)
    }
}

impl<S, T, D: Delays<T>> GenericHedgedStore<S, T, D> {
    /// Like [`new`](Self::new), with the given timer. It is cloned for each read.
    #[must_use]
    pub fn with_timer(inner: S, timer: T, delays: D) -> Self {
        Self {
            inner: Arc::new(inner),
            timer,
            delays: Arc::new(delays),
            observer: (),
            options: Options {
                race: RaceOptions::new().max_attempts(2),
                budget: None,
                classify: Classifier::default(),
                hedge_bodies: true,
            },
        }
    }
}

impl<S, T, D, O> GenericHedgedStore<S, T, D, O> {
    /// Applies the options that are set in `options`; those that are not set stay as they are.
    ///
    /// The setters below change one option each; the last call for an option wins. What the options
    /// mean is documented at [`RaceOptions`]. Here a `max_attempts` or `max_in_flight` of 0 means
    /// 1, because a read is always sent.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use object_store::memory::InMemory;
    /// use race_core::RaceOptions;
    /// use race_object_store::HedgedStore;
    ///
    /// let options = RaceOptions::new().max_attempts(3).deadline(Duration::from_secs(5));
    /// let delay = Duration::from_millis(50);
    /// let store = HedgedStore::new(InMemory::new(), delay).options(options);
    /// ```
    #[must_use]
    pub fn options(mut self, options: RaceOptions) -> Self {
        let mut race = options.or(&self.options.race);
        race.max_attempts = race.max_attempts.map(|max| max.max(1));
        race.max_in_flight = race.max_in_flight.map(|max| max.max(1));
        self.options.race = race;
        self
    }

    /// Sets [`RaceOptions::max_attempts()`] of a read, the first one included. Default: 2; 0 means
    /// 1.
    #[must_use]
    pub fn max_attempts(self, max: usize) -> Self {
        self.options(RaceOptions::new().max_attempts(max))
    }

    /// Sets [`RaceOptions::max_in_flight()`] of a read. Default: no limit; 0 means 1.
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

    /// Sets [`RaceOptions::attempt_timeout()`], which applies until the attempt is decided, also to
    /// a continuation of a body. Default: none.
    #[must_use]
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.options(RaceOptions::new().attempt_timeout(timeout))
    }

    /// Sets [`RaceOptions::deadline()`], which applies until the read is decided, and to each
    /// continuation of its body anew. Default: none.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.options(RaceOptions::new().deadline(deadline))
    }

    /// Limits how many hedges all reads together may start. Takes an `Arc<Budget>`, or an `Option`
    /// of one. Default: no limit.
    ///
    /// A fail-over after an error is not a hedge: it is free, unless the budget is made with
    /// [`Budget::charge_failover`]. So errors and outages can double the reads whatever the budget;
    /// see [Load](Self#load).
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use object_store::memory::InMemory;
    /// use race_core::Budget;
    /// use race_object_store::HedgedStore;
    ///
    /// // At most 5 % more reads, and 10 at once after a quiet time.
    /// let budget = Arc::new(Budget::percent(5).reserve(10));
    /// let delay = Duration::from_millis(50);
    /// let store = HedgedStore::new(InMemory::new(), delay).budget(budget);
    /// ```
    #[must_use]
    pub fn budget(mut self, budget: impl Into<Option<Arc<Budget>>>) -> Self {
        self.options.budget = budget.into();
        self
    }

    /// Sets which errors are answers. Default: [`classify`](crate::classify).
    ///
    /// - [`Verdict::Accept`]: the error is an answer. It wins the read, as an `Ok` does.
    /// - [`Verdict::Fatal`]: the read fails at once with this error. Observers count a failure, and
    ///   `AdaptiveDelays` learn nothing.
    /// - The others: the attempt failed, and the read continues, as they say.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use object_store::memory::InMemory;
    /// use object_store::Error;
    /// use race_core::Verdict;
    /// use race_object_store::{HedgedStore, classify};
    ///
    /// // The store is eventually consistent: another replica may have the object.
    /// let delay = Duration::from_millis(50);
    /// let store = HedgedStore::new(InMemory::new(), delay).classify(|error| match error {
    ///     Error::NotFound { .. } => Verdict::Retryable,
    ///     error => classify(error),
    /// });
    /// ```
    ///
    /// Hedges slow reads, and sends none again after an error:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use object_store::memory::InMemory;
    /// # use race_core::Verdict;
    /// # use race_object_store::{HedgedStore, classify};
    /// # let delay = Duration::from_millis(50);
    /// let store = HedgedStore::new(InMemory::new(), delay);
    /// let store = store.classify(|error| match classify(error) {
    ///     Verdict::Retryable => Verdict::NoMoreStarts,
    ///     verdict => verdict,
    /// });
    /// ```
    #[must_use]
    pub fn classify(
        mut self,
        classify: impl Fn(&Error) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.options.classify = Classifier::new(classify);
        self
    }

    /// Sets whether a body that stalls is [hedged](Self#bodies-that-stall). Default: `true`.
    ///
    /// `false` hands over the body of the winner as it is: the read is then hedged to its first
    /// byte only.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use object_store::memory::InMemory;
    /// use race_object_store::HedgedStore;
    ///
    /// let delay = Duration::from_millis(50);
    /// let store = HedgedStore::new(InMemory::new(), delay).hedge_bodies(false);
    /// ```
    #[must_use]
    pub fn hedge_bodies(mut self, hedge: bool) -> Self {
        self.options.hedge_bodies = hedge;
        self
    }

    /// Reports events to an observer, such as an `Arc<Counters>`. Each read has a clone of it.
    ///
    /// With `Traced` (feature `tracing`), each attempt is polled in its own span `attempt`, within
    /// a span `race`, within the span in which the read is first polled.
    #[must_use]
    pub fn observer<O2>(self, observer: O2) -> GenericHedgedStore<S, T, D, O2> {
        GenericHedgedStore {
            inner: self.inner,
            timer: self.timer,
            delays: self.delays,
            observer,
            options: self.options,
        }
    }

    /// Returns the inner store, whose reads are not hedged.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Returns the inner store, which clones and the bodies that are being read share.
    pub fn into_inner(self) -> Arc<S> {
        self.inner
    }
}
