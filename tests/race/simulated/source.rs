//! The candidates of a plan as a source, at once or over time.

use std::{
    cell::RefCell,
    future::pending,
    pin::Pin,
    task::{Context, Poll},
};

use race::{
    Moment, Timer, VirtualClock, VirtualTimer,
    source::{Source, SourceTypes},
};

use super::{
    Outcome,
    plan::{Candidate, Failing, Kind, Plan},
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
        }
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

    fn attempt(&mut self, index: usize) -> (usize, Self::Attempt) {
        let now = self.clock.elapsed().as_millis() as u64;
        self.outcome.borrow_mut().starts.push(now);
        let Candidate {
            latency, result, ..
        } = self.plan.candidates[index];
        let sleep = latency.map(|latency| self.clock.sleep(ms(latency)));
        let attempt = async move {
            match sleep {
                Some(sleep) => sleep.await,
                None => pending().await,
            }
            result
        };
        (index, Box::pin(attempt))
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
