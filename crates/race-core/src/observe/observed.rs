use alloc::vec::Vec;
use core::{fmt, time::Duration};

use crate::{Clock, Event, Moment, Policy, Standing, Suppressed, What};

/// Is told what happens in a race.
///
/// Any `FnMut(Event)` is an observer, so one that is shared is a closure around it, such as
/// `|event| stairs.borrow_mut().observe(event)`. Two observers are a pair, and one that may be missing is an
/// `Option`. `()` observes nothing, and costs nothing.
///
/// One that comes to a race that has begun hears of the attempts that start from then on.
///
/// An observer is told in the middle of a poll, and as the race is dropped: it must not block, and it
/// should not panic.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot observe a race",
    note = "an observer is a closure `|event: Event| ..`, `&Counters`, `Staircase`, `Traced`, \
            `&Adaptive`, or a pair of these",
    note = "of a `LazyLock` or another pointer, give what it points to: `&*it`"
)]
pub trait Observer {
    /// Something happened.
    fn observe(&mut self, event: Event);

    /// Whether it is to be told at all. If not, no clock is read and no list is kept. The answer must not
    /// change.
    fn listens(&self) -> bool {
        true
    }
}

impl<F: FnMut(Event)> Observer for F {
    fn observe(&mut self, event: Event) {
        self(event);
    }
}

impl Observer for () {
    fn observe(&mut self, _: Event) {}

    fn listens(&self) -> bool {
        false
    }
}

impl<O: Observer> Observer for Option<O> {
    fn observe(&mut self, event: Event) {
        if let Some(observer) = self {
            observer.observe(event);
        }
    }

    fn listens(&self) -> bool {
        self.as_ref().is_some_and(O::listens)
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observe(&mut self, event: Event) {
        self.0.observe(event);
        self.1.observe(event);
    }

    fn listens(&self) -> bool {
        self.0.listens() || self.1.listens()
    }
}

/// A policy and somebody who is told what happens, as `Race::observer` makes it.
///
/// Each event costs a reading of the clock, and a race that is observed keeps a list of what runs.
pub struct Observed<P, O: Observer, C: Clock> {
    policy: P,
    observer: O,
    clock: C,
    /// What runs, in the order of the places, and since when.
    running: Vec<(usize, Moment)>,
    /// What was suppressed last, which is said once.
    suppressed: Option<(usize, Suppressed)>,
}

impl<P, O: Observer, C: Clock> Observed<P, O, C> {
    /// Tells `observer`, at the times of `clock`.
    pub fn new(policy: P, clock: C, observer: O) -> Self {
        Self {
            policy,
            observer,
            clock,
            running: Vec::new(),
            suppressed: None,
        }
    }

    fn tell(&mut self, place: usize, what: What) {
        let since = match what {
            What::Started => None,
            What::Suppressed(by) => {
                if self.suppressed.replace((place, by)) == Some((place, by)) {
                    return;
                }
                None
            }
            _ => match self.running.binary_search_by_key(&place, |it| it.0) {
                Ok(index) => Some(self.running.remove(index).1),
                Err(_) => return, // it ran before there was an observer
            },
        };
        let at = self.clock.now();
        if what == What::Started {
            self.running.push((place, at));
        }
        let ran = since.map_or(Duration::ZERO, |since| at.since(since));
        self.observer.observe(Event::new(place, at, ran, what));
    }
}

impl<P: Policy, O: Observer, C: Clock> Policy for Observed<P, O, C> {
    fn step(&mut self, place: usize) -> Option<Duration> {
        self.policy.step(place)
    }

    fn admit(&mut self, standing: &Standing<'_>) -> Result<(), Suppressed> {
        self.policy.admit(standing)
    }

    fn note(&mut self, place: usize, what: What) {
        if self.observer.listens() {
            self.tell(place, what);
        }
        self.policy.note(place, what);
    }
}

/// What still runs is cancelled.
impl<P, O: Observer, C: Clock> Drop for Observed<P, O, C> {
    fn drop(&mut self) {
        while let Some(&(place, _)) = self.running.first() {
            self.tell(place, What::Cancelled);
        }
    }
}

impl<P: fmt::Debug, O: Observer, C: Clock> fmt::Debug for Observed<P, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("policy", &self.policy)
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}
