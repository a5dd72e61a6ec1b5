//! A race of given latencies and results on the virtual clock, and what was seen of it.

use std::{
    cell::RefCell,
    future::{Future, pending},
    rc::Rc,
    time::Duration,
};

use race::{
    Event, Observed, Policy, RaceError, VirtualClock, VirtualTimer, What, Won, core::Race,
    source::Source,
};

use crate::probe::ms;

/// Latency in milliseconds, and the result. [`HANGS`] never ends.
pub(crate) type Candidate = (u64, Result<&'static str, &'static str>);
pub(crate) type Output = Result<&'static str, &'static str>;
pub(crate) type Ended = Result<Won<usize, &'static str>, RaceError<usize, &'static str>>;

pub(crate) const HANGS: u64 = u64::MAX;

/// One clock, and a note of each event.
#[derive(Clone, Default)]
pub(crate) struct Scenario {
    pub(crate) clock: VirtualClock,
    events: Rc<RefCell<Vec<Event>>>,
}

impl Scenario {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A race of these candidates.
    pub(crate) fn race<P: Policy>(
        &self,
        policy: P,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> Race<
        impl Source<Output = Output, Arg = usize>,
        VirtualTimer,
        Observed<P, impl FnMut(Event), VirtualClock>,
    > {
        let events = self.events.clone();
        Race::of_with(
            self.clock.timer(),
            Duration::ZERO,
            self.attempts(candidates),
        )
        .policy(policy)
        .observer_with(self.clock.clone(), move |event| {
            events.borrow_mut().push(event);
        })
    }

    pub(crate) fn attempts<I: IntoIterator<Item = Candidate>>(
        &self,
        candidates: I,
    ) -> impl Iterator<Item = impl Future<Output = Output> + use<I>> + use<I> {
        let clock = self.clock.clone();
        candidates.into_iter().map(move |(latency, result)| {
            let clock = clock.clone();
            async move {
                match latency {
                    HANGS => pending().await,
                    latency => clock.sleep(ms(latency)).await,
                }
                result
            }
        })
    }

    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.clock.run(future).unwrap()
    }

    /// When attempts started, in milliseconds.
    pub(crate) fn starts(&self) -> Vec<u64> {
        let starts = self.all(What::Started);
        starts.into_iter().map(|(_, at)| at).collect()
    }

    /// The places to which this happened, and when.
    pub(crate) fn all(&self, what: What) -> Vec<(usize, u64)> {
        let events = self.events.borrow();
        let these = events.iter().filter(|event| event.what == what);
        these
            .map(|event| (event.place, event.at.as_nanos() / 1_000_000))
            .collect()
    }

    pub(crate) fn count(&self, what: What) -> usize {
        self.all(what).len()
    }

    pub(crate) fn millis(&self) -> u64 {
        self.clock.now().as_nanos() / 1_000_000
    }
}

/// Place of the winner, and when it won.
pub(crate) fn won(ended: &Ended) -> (usize, u64) {
    let won = ended.as_ref().expect("one succeeds");
    (won.place, won.elapsed.as_millis().try_into().unwrap())
}

/// Every error, in the order of the candidates.
pub(crate) fn errors(ended: Ended) -> Vec<&'static str> {
    let Err(RaceError::AllFailed(failed)) = ended else {
        panic!("all fail: {ended:?}");
    };
    failed
        .into_iter()
        .filter_map(|failed| failed.failure.into_error())
        .collect()
}
