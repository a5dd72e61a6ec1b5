use core::fmt;

use crate::observe::Event;

/// Receives the events of a race.
///
/// `Race::observer` takes an observer: `&Counters`, a [`Staircase`](crate::observe::Staircase),
/// `Traced`, or your own type. `Race::on_event` takes a closure. A pair of observers is an
/// observer, and so is an `Option` of one. `()` observes nothing and costs nothing.
///
/// An observer that is added to a running race sees the attempts that start from then on.
///
/// Events are delivered inside a poll of the race and when it is dropped: an observer must not
/// block, and should not panic.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot observe a race",
    note = "an observer is `&Counters`, `Arc<Counters>`, `&Arc<Counters>`, `&RaceOverrun`, `Staircase`, `Traced`, `&Adaptive`, or a pair of these",
    note = "pass a closure to `.on_event(|event| ..)` instead of `.observer(..)`",
    note = "for a `LazyLock` or another pointer, pass what it points to: `&*pointer`"
)]
pub trait Observer {
    /// Receives one event.
    fn observe(&mut self, event: Event);

    /// Returns whether this observer needs events at all. The answer must not change.
    ///
    /// Default: `true`. If it returns `false`, the race reads no clock for it.
    fn is_active(&self) -> bool {
        true
    }

    /// Returns the span in which a running attempt is polled. Only `Traced` has one.
    #[cfg(feature = "tracing")]
    #[doc(hidden)]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        let _ = index;
        None
    }
}

impl Observer for () {
    fn observe(&mut self, _: Event) {}

    fn is_active(&self) -> bool {
        false
    }
}

impl<O: Observer> Observer for Option<O> {
    fn observe(&mut self, event: Event) {
        if let Some(observer) = self {
            observer.observe(event);
        }
    }

    fn is_active(&self) -> bool {
        self.as_ref().is_some_and(O::is_active)
    }

    #[cfg(feature = "tracing")]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        self.as_ref()?.span(index)
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observe(&mut self, event: Event) {
        self.0.observe(event);
        self.1.observe(event);
    }

    fn is_active(&self) -> bool {
        self.0.is_active() || self.1.is_active()
    }

    #[cfg(feature = "tracing")]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        self.0.span(index).or_else(|| self.1.span(index))
    }
}

/// A closure as an observer, made by `Race::on_event`.
#[derive(Clone)]
pub struct OnEvent<F>(pub(crate) F);

impl<F: FnMut(Event)> OnEvent<F> {
    /// Makes an observer of a closure, for a place that takes an [`Observer`], such as a pair.
    pub fn new(on_event: F) -> Self {
        Self(on_event)
    }
}

impl<F: FnMut(Event)> Observer for OnEvent<F> {
    fn observe(&mut self, event: Event) {
        (self.0)(event);
    }
}

impl<F> fmt::Debug for OnEvent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnEvent").finish_non_exhaustive()
    }
}
