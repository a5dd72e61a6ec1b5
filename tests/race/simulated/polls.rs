//! Polls a race late and without need.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
};

use race::{Moment, Timer, test::VirtualClock};

use super::plan::Plan;
use crate::probe::ms;

/// Runs a race; `None` if it never ends.
pub(super) fn run<F: Future>(plan: &Plan, clock: &VirtualClock, race: F) -> Option<F::Output> {
    let mut race = pin!(race);
    let mut alarm = clock.timer();
    let polled = std::future::poll_fn(|cx| poll(plan, clock, &mut alarm, race.as_mut(), cx));
    clock.run(polled).ok()
}

fn poll<F: Future>(
    plan: &Plan,
    clock: &VirtualClock,
    alarm: &mut impl TimerUnpin,
    race: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<F::Output> {
    let now = clock.elapsed().as_millis() as u64;
    let from = plan.polled_from(now);
    if from > now {
        let _pending = Pin::new(alarm).poll_until(Moment::from(ms(from)), cx);
        return Poll::Pending;
    }
    if let Poll::Ready(output) = race.poll(cx) {
        return Poll::Ready(output);
    }
    let next = plan.spurious.iter().filter(|at| **at > now).min();
    if let Some(next) = next {
        let _pending = Pin::new(alarm).poll_until(Moment::from(ms(*next)), cx);
    }
    Poll::Pending
}

trait TimerUnpin: Timer + Unpin {}

impl<T: Timer + Unpin> TimerUnpin for T {}
