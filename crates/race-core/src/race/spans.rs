//! Attempts that are polled in spans.

use super::{GenericRace, Placement};
use crate::{
    Policy,
    source::{Source, Spanned},
};

impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    S: Source,
    P: Policy,
{
    /// Polls and drops each attempt in the span `attempt` that a
    /// [`Traced`](crate::observe::Traced) opens for it, so that the spans and events of the attempt
    /// are its children. Without a `Traced` as an observer it changes nothing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, observe::Traced, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let attempts = ["one", "two"].map(|server| async move {
    ///     tracing::info!(server, "connecting"); // in race:attempt
    ///     Ok::<_, std::io::Error>(server)
    /// });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts)
    ///     .observer(Traced::new())
    ///     .poll_in_spans();
    /// assert_eq!(clock.run(race.first_ok())??.output, "one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if an attempt is running: call it before the first poll.
    #[must_use]
    pub fn poll_in_spans(self) -> GenericRace<K, Spanned<S>, T, P, H> {
        assert!(
            K::is_empty(&self.attempts),
            "`poll_in_spans` was called while attempts are running: call it before the first poll"
        );
        GenericRace {
            attempts: K::empty_set(),
            schedule: self.schedule.map_source(Spanned::new),
        }
    }
}
