//! A race of given latencies and results on the virtual clock, and a record of its events.

use std::{
    cell::RefCell,
    fmt::Debug,
    future::{Future, pending},
    rc::Rc,
};

use futures::{FutureExt as _, future::LocalBoxFuture};
use race::{
    RaceError, Won,
    core::{Race, observe::Observed},
    observe::{Cause, Event, EventKind, OnEvent, Refusal},
    policy::IntoPolicy,
    source::Of,
    test::{VirtualClock, VirtualTimer},
};

use crate::probe::ms;

/// Latency in milliseconds, and the result. With [`HANGS`] the attempt never ends.
pub(crate) type Candidate = (u64, Result<&'static str, &'static str>);
pub(crate) type Output = Result<&'static str, &'static str>;
pub(crate) type Attempt = LocalBoxFuture<'static, Output>;
pub(crate) type Ended = Result<Won<usize, &'static str>, RaceError<usize, &'static str>>;

pub(crate) const HANGS: u64 = u64::MAX;

/// One clock, and a record of each event.
#[derive(Clone, Default)]
pub(crate) struct Scenario {
    pub(crate) clock: VirtualClock,
    events: Rc<RefCell<Vec<Event>>>,
}

impl Scenario {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Creates a race of these candidates. Its events are recorded.
    #[expect(clippy::type_complexity, reason = "the parts of a race")]
    pub(crate) fn race<D: IntoPolicy<VirtualTimer>>(
        &self,
        policy: D,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> Race<
        Of<impl Iterator<Item = Attempt>, Attempt>,
        VirtualTimer,
        D::Policy,
        (D::Hooks, Observed<OnEvent<impl FnMut(Event)>, VirtualTimer>),
    > {
        let attempts = self.attempts(candidates);
        Race::at(self.clock.timer())
            .of(policy, attempts)
            .on_event(self.record())
    }

    /// Returns a closure that records events, for a race that was made elsewhere.
    pub(crate) fn record(&self) -> impl FnMut(Event) + use<> {
        let events = self.events.clone();
        move |event| events.borrow_mut().push(event)
    }

    pub(crate) fn attempts(
        &self,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> impl Iterator<Item = Attempt> {
        let clock = self.clock.clone();
        candidates.into_iter().map(move |(latency, result)| {
            let clock = clock.clone();
            let attempt = async move {
                match latency {
                    HANGS => pending().await,
                    latency => clock.sleep(ms(latency)).await,
                }
                result
            };
            attempt.boxed_local()
        })
    }

    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.clock.run(future).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }

    /// When attempts started, in milliseconds.
    pub(crate) fn starts(&self) -> Vec<u64> {
        let starts = self.all(EventKind::Started);
        starts.into_iter().map(|(_, at)| at).collect()
    }

    /// Why attempts started, and when.
    pub(crate) fn causes(&self) -> Vec<(Cause, u64)> {
        let events = self.events.borrow();
        let starts = events
            .iter()
            .filter(|event| event.kind == EventKind::Started);
        starts.map(|event| (event.cause, millis(event))).collect()
    }

    /// The indices of the attempts that had this event, and when.
    pub(crate) fn all(&self, kind: EventKind) -> Vec<(usize, u64)> {
        let events = self.events.borrow();
        let these = events.iter().filter(|event| event.kind == kind);
        these.map(|event| (event.index, millis(event))).collect()
    }

    /// The indices of the attempts that were refused for this reason, and when.
    pub(crate) fn refused(&self, refusal: Refusal) -> Vec<(usize, u64)> {
        self.all(EventKind::Refused(refusal))
    }

    pub(crate) fn count(&self, kind: EventKind) -> usize {
        self.all(kind).len()
    }

    /// The current time in milliseconds.
    pub(crate) fn millis(&self) -> u64 {
        self.clock.now().as_nanos() / 1_000_000
    }
}

fn millis(event: &Event) -> u64 {
    event.at.as_nanos() / 1_000_000
}

/// The index of the winner, and when it won.
pub(crate) fn won<E: Debug>(ended: &Result<Won<usize, &str>, E>) -> (usize, u64) {
    let won = ended.as_ref().expect("one attempt succeeds");
    (won.index, won.elapsed.as_millis().try_into().unwrap())
}

/// Every error, in the order in which the attempts failed.
pub(crate) fn errors(ended: Ended) -> Vec<&'static str> {
    let Err(error @ RaceError::AllFailed { .. }) = ended else {
        panic!("all fail: {ended:?}");
    };
    error.into_errors()
}
