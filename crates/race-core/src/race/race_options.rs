//! The options of a race as a value.

use core::time::Duration;

use super::{GenericRace, Placement};
use crate::{CatchUp, Hook, OnFailure, Policy, Timer, source::Source};

/// The limits of a race as a value: a client stores them once and applies them to each race.
///
/// [`GenericRace::options`] applies them; so do the layers of `race-tower` and `race-object-store`.
/// An option that is not set leaves what it is applied to as it is.
///
/// # Order
///
/// Options apply in the order in which they are given, and the last one wins: a setter after
/// `options` overrides that field, and `options` overrides an earlier setter if the field is set.
/// Among different fields, the order does not matter.
///
/// # What is not in it
///
/// Budgets, gates, observers and backoffs change the type of a race. Add them to the race itself.
///
/// ```
/// use std::{io, time::Duration};
/// use race_core::{Race, RaceOptions, test::VirtualClock};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Client {
///     name: String,
///     options: RaceOptions,
/// }
///
/// let client = Client {
///     name: "files".into(),
///     options: RaceOptions::new()
///         .max_attempts(2)
///         .attempt_timeout(Duration::from_secs(1))
///         .deadline(Duration::from_secs(3)),
/// };
/// # let clock = VirtualClock::new();
/// # let refuse = |_| async { Err::<(), _>(io::Error::other("refused")) };
/// let race = Race::at(clock.timer())
///     .from_fn(Duration::from_millis(50), refuse)
///     .options(&client.options)
///     .max_attempts(3); // this race may start one more
/// let error = clock.run(race.first_ok())?.unwrap_err();
/// assert_eq!(error.failed().len(), 3);
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "options do nothing until they are applied to a race"]
pub struct RaceOptions {
    /// How many attempts start in total; see [`max_attempts()`](Self::max_attempts()).
    pub max_attempts: Option<usize>,
    /// How many attempts run at once; see [`max_in_flight()`](Self::max_in_flight()).
    pub max_in_flight: Option<usize>,
    /// What happens to missed starts; see [`catch_up()`](Self::catch_up()).
    pub catch_up: Option<CatchUp>,
    /// What a failure starts; see [`on_failure()`](Self::on_failure()).
    pub on_failure: Option<OnFailure>,
    /// The minimum time between two starts; see [`min_gap()`](Self::min_gap()).
    pub min_gap: Option<Duration>,
    /// How long each attempt may run; see [`attempt_timeout()`](Self::attempt_timeout()).
    pub attempt_timeout: Option<Duration>,
    /// How long the race may take; see [`deadline()`](Self::deadline()).
    pub deadline: Option<Duration>,
}

impl RaceOptions {
    /// Returns options of which none is set.
    pub const fn new() -> Self {
        Self {
            max_attempts: None,
            max_in_flight: None,
            catch_up: None,
            on_failure: None,
            min_gap: None,
            attempt_timeout: None,
            deadline: None,
        }
    }

    /// Limits how many attempts start in total; no further candidates are drawn.
    ///
    /// Default of a race: no limit. With 0 nothing may start, so the race ends at once.
    pub const fn max_attempts(mut self, max: usize) -> Self {
        self.max_attempts = Some(max);
        self
    }

    /// Limits how many attempts run at once; the next start waits until one finishes.
    ///
    /// Default of a race: no limit, or the room of an [`InlineRace`](crate::InlineRace). With 0
    /// nothing may run, so the race ends at once.
    pub const fn max_in_flight(mut self, max: usize) -> Self {
        self.max_in_flight = Some(max);
        self
    }

    /// Sets what happens to starts that were missed because the race was not polled in time.
    ///
    /// Default of a race: [`CatchUp::Delay`].
    pub const fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.catch_up = Some(catch_up);
        self
    }

    /// Sets what a failure starts.
    ///
    /// It applies to result-aware finishers such as `first_ok`. In a race that is read as a stream,
    /// a failure is a completion like any other and starts nothing. Default of a race:
    /// [`OnFailure::IfLatest`].
    pub const fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// Sets the minimum time between two starts, also after failures and missed starts. The delay
    /// counts beside it, from the same start. Happy Eyeballs (RFC 8305, section 8) recommends at
    /// least 10 ms.
    ///
    /// Default of a race: zero.
    pub const fn min_gap(mut self, gap: Duration) -> Self {
        self.min_gap = Some(gap);
        self
    }

    /// Limits how long each attempt may run. An attempt that exceeds it is cancelled.
    ///
    /// In result-aware finishers a timeout is a failure that can be retried. With `next` and
    /// `first` the attempt yields no item; observers see it. It applies to attempts that start
    /// after it is set. With zero, an attempt that is not ready in its first poll times out.
    /// Default of a race: none.
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// Limits how long the race may take, counted from its first poll. Whatever runs then is
    /// cancelled. After a commit (see `committing`) it no longer applies.
    ///
    /// Result-aware finishers fail with their `Deadline` error; the stream ends, and `first`
    /// resolves to `None`. Zero allows only the first poll. Default of a race: none.
    ///
    /// With nothing running, the race ends at once if delay, pause, minimum gap, pushback or a gate
    /// allow no start before the deadline. All attempts have failed then, and the error says
    /// [`Refusal::Deadline`](crate::observe::Refusal::Deadline). It does not wait for a source whose
    /// candidates could not start in time, either.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Returns these options, with those of `defaults` for the ones that are not set.
    ///
    /// ```
    /// use race_core::{OnFailure, RaceOptions};
    ///
    /// let of_client = RaceOptions::new().max_attempts(2).on_failure(OnFailure::Any);
    /// let of_call = RaceOptions::new().max_attempts(5).or(&of_client);
    /// assert_eq!(of_call, of_client.max_attempts(5));
    /// ```
    pub fn or(self, defaults: &Self) -> Self {
        Self {
            max_attempts: self.max_attempts.or(defaults.max_attempts),
            max_in_flight: self.max_in_flight.or(defaults.max_in_flight),
            catch_up: self.catch_up.or(defaults.catch_up),
            on_failure: self.on_failure.or(defaults.on_failure),
            min_gap: self.min_gap.or(defaults.min_gap),
            attempt_timeout: self.attempt_timeout.or(defaults.attempt_timeout),
            deadline: self.deadline.or(defaults.deadline),
        }
    }
}

impl<K: Placement, S: Source, T: Timer, P: Policy, H: Hook> GenericRace<K, S, T, P, H> {
    /// Applies the options that are set in `options`, as the setters of the same names do.
    ///
    /// A setter that follows overrides its option; the other options of the race stay as they are.
    /// See [`RaceOptions`] for an example.
    #[must_use]
    pub fn options(mut self, options: &RaceOptions) -> Self {
        if let Some(max) = options.max_attempts {
            self = self.max_attempts(max);
        }
        if let Some(max) = options.max_in_flight {
            self = self.max_in_flight(max);
        }
        if let Some(catch_up) = options.catch_up {
            self = self.catch_up(catch_up);
        }
        if let Some(on_failure) = options.on_failure {
            self = self.on_failure(on_failure);
        }
        if let Some(gap) = options.min_gap {
            self = self.min_gap(gap);
        }
        if let Some(timeout) = options.attempt_timeout {
            self = self.attempt_timeout(timeout);
        }
        if let Some(deadline) = options.deadline {
            self = self.deadline(deadline);
        }
        self
    }
}
