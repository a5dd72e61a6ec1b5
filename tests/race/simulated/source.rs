//! The candidates of a plan as a source, at once or over time.

use std::{
    cell::RefCell,
    future::{pending, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};

use race::{
    AttemptHandle, Moment, Timer,
    source::{Handles, Source, SourceTypes},
    test::{VirtualClock, VirtualTimer},
};

use super::{
    Outcome, Place,
    plan::{Failing, Kind, Plan, Sign},
};
use crate::probe::ms;

pub(super) type Output = Result<(), Failing>;

pub(super) struct PlannedSource<'a> {
    plan: &'a Plan,
    clock: &'a VirtualClock,
    outcome: &'a RefCell<Outcome>,
    arrivals: Vec<u64>,
    timer: VirtualTimer,
    drawn: usize,
    started: usize,
    /// Wakes when there is a place.
    place: VirtualTimer,
    /// The place of the next start is awaited or taken.
    reserved: Option<Place>,
    handles: Option<Handles>,
}

impl<'a> PlannedSource<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        clock: &'a VirtualClock,
        outcome: &'a RefCell<Outcome>,
    ) -> Self {
        Self {
            plan,
            clock,
            outcome,
            arrivals: plan.arrivals(),
            timer: clock.timer(),
            drawn: 0,
            started: 0,
            place: clock.timer(),
            reserved: None,
            handles: plan.has_handles.then(Handles::new),
        }
    }

    fn now(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    fn note(&mut self, place: Place) {
        let at = self.now();
        self.outcome.borrow_mut().places.push((at, place));
    }
}

impl SourceTypes for PlannedSource<'_> {
    type Candidate = usize;
    type Arg = usize;
    type Attempt = Pin<Box<dyn Future<Output = Output>>>;
}

impl Source for PlannedSource<'_> {
    type Output = Output;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        let arrival = Moment::from(ms(self.arrivals[self.drawn]));
        if Pin::new(&mut self.timer)
            .poll_until(arrival, cx)
            .is_pending()
        {
            return Poll::Pending;
        }
        if self.drawn == self.plan.candidates.len() {
            return Poll::Ready(None);
        }
        self.drawn += 1;
        Poll::Ready(Some(self.drawn - 1))
    }

    fn poll_reserve(&mut self, candidate: &mut usize, cx: &mut Context<'_>) -> Poll<bool> {
        assert_ne!(self.reserved, Some(Place::Taken), "it was reserved before");
        if self.plan.candidates[*candidate].is_taken_back {
            return Poll::Ready(false);
        }
        let free = Moment::from(ms(self.plan.place_from(self.now())));
        if Pin::new(&mut self.place).poll_until(free, cx).is_pending() {
            if self.reserved.replace(Place::Awaited).is_none() {
                self.note(Place::Awaited);
            }
            return Poll::Pending;
        }
        self.reserved = Some(Place::Taken);
        self.note(Place::Taken);
        Poll::Ready(true)
    }

    fn put_back(&mut self, _: &mut usize) {
        if self.reserved.take().is_some() {
            self.note(Place::PutBack);
        }
    }

    fn attempt(&mut self, candidate: usize) -> (usize, Self::Attempt) {
        assert_eq!(
            self.reserved.take(),
            Some(Place::Taken),
            "a start has a place"
        );
        let now = self.now();
        self.outcome.borrow_mut().starts.push(now);
        let candidate = &self.plan.candidates[candidate];
        let result = candidate.result;
        let end = candidate.latency.map(|latency| now + latency);
        let handle = self.handles.as_mut().map(Handles::handle);
        let signs = candidate.signs.iter();
        let signs: Vec<_> = signs
            .map(|(after, sign)| (now + after, *sign))
            .filter(|(at, _)| end.is_none_or(|end| *at <= end))
            .collect();
        let timer = self.clock.timer();
        let attempt = async move {
            if let Some(handle) = handle {
                say(handle, signs, &timer).await;
            }
            match end {
                Some(end) => until(&timer, end).await,
                None => pending().await,
            }
            result
        };
        self.started += 1;
        (self.started - 1, Box::pin(attempt))
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        self.handles.as_mut()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.plan.candidates.len() - self.drawn;
        match self.plan.source {
            Kind::Exact => (left, Some(left)),
            Kind::AtMost(more) => (0, Some(left + more)),
            Kind::Unknown | Kind::Stream => (0, None),
        }
    }
}

/// Gives the signs of an attempt, each at its time.
async fn say(mut handle: AttemptHandle, signs: Vec<(u64, Sign)>, timer: &VirtualTimer) {
    let mut hold = None;
    for (at, sign) in signs {
        until(timer, at).await;
        match sign {
            Sign::Progress => handle.progress(),
            Sign::Hold => hold = Some(handle.hold()),
            Sign::Release => hold = None,
            Sign::Commit => handle.commit().await,
        }
    }
    std::mem::forget(hold); // the end of the attempt ends it
}

async fn until(timer: &VirtualTimer, at: u64) {
    let mut timer = timer.clone();
    poll_fn(|cx| Pin::new(&mut timer).poll_until(Moment::from(ms(at)), cx)).await;
}
