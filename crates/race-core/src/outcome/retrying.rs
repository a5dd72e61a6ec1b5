use core::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use super::{
    Failures, GenericRaceError, Won,
    decision::{Outcome, STEPS_PER_POLL},
    goal::{Goal, One},
    judge::{Judge, Judged},
};
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    race::{GenericRace, Placement, Step},
    source::Contexts,
};

pin_project! {
    /// The future of the finishers of a [`Retry`](crate::Retry).
    ///
    /// It resolves to the context, if no attempt lost it, and the result: the winner or the error of
    /// a race.
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the attempt that runs, and drops the context.
    ///
    /// # Panics
    ///
    /// Panics where polling a race does, if the classifier panics, and if it is polled again after it
    /// was ready.
    #[must_use = "futures do nothing unless polled"]
    pub struct Retrying<R, J, L> {
        // `None` once it was ready.
        #[pin]
        race: Option<R>,
        judge: J,
        failed: L,
    }
}

impl<R, J, L: Default> Retrying<R, J, L> {
    pub(crate) fn new(race: R, judge: J) -> Self {
        Self {
            race: Some(race),
            judge,
            failed: L::default(),
        }
    }
}

/// Judges the result of an attempt, and keeps its context.
struct KeepContext<'a, J, C> {
    judge: &'a mut J,
    context: Option<C>,
}

impl<J: Judge<O>, C, O> Judge<(C, O)> for KeepContext<'_, J, C> {
    type Value = J::Value;
    type Error = J::Error;

    fn judge(&mut self, (context, result): (C, O)) -> Judged<J::Value, J::Error> {
        self.context = Some(context);
        self.judge.judge(result)
    }
}

#[allow(clippy::type_complexity, reason = "a context and a result")]
impl<K, C, R, F, O, T, P, H, J, L> Retrying<GenericRace<K, Contexts<C, R, F>, T, P, H>, J, L>
where
    K: Placement,
    K::Set<F, (usize, usize)>: AttemptSet<F, (usize, usize)>,
    R: FnMut(C) -> F,
    F: Future<Output = (C, O)>,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<O>,
    L: Failures<Arg = usize, Error = J::Error>,
{
    fn poll_result(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<(Option<C>, Result<Won<usize, J::Value>, GenericRaceError<L>>)> {
        let this = self.project();
        let race = this.race.as_pin_mut();
        let (mut set, schedule) = race
            .expect("`Retrying` is polled after it was ready")
            .parts();
        for _ in 0..STEPS_PER_POLL {
            let running = set.len();
            if running == 0 && schedule.context_mut().is_none() {
                schedule.stop(); // the attempt that had the context timed out or panicked
            }
            schedule.note_running(running);
            let Poll::Ready(step) = schedule.poll_step(set.as_mut(), cx) else {
                schedule.note_began();
                return Poll::Pending;
            };
            let is_finished = matches!(step, Step::Finished { .. });
            let mut judge = KeepContext {
                judge: this.judge,
                context: None,
            };
            let running = set.len();
            let outcome = schedule.decide(step, running, &mut judge, &mut One, this.failed);
            if is_finished {
                *schedule.context_mut() = judge.context;
            }
            let result = match outcome {
                Outcome::Reached(won) => Ok(won),
                Outcome::Missed(why) => {
                    let failed = mem::take(this.failed);
                    Err(Goal::<usize, J::Value, L>::missed(&mut One, why, failed))
                }
                Outcome::Undecided => continue,
            };
            return Poll::Ready((schedule.context_mut().take(), result));
        }
        cx.waker().wake_by_ref();
        schedule.clock();
        schedule.note_began();
        schedule.begin_deadline();
        Poll::Pending
    }
}

impl<K, C, R, F, O, T, P, H, J, L> Future
    for Retrying<GenericRace<K, Contexts<C, R, F>, T, P, H>, J, L>
where
    K: Placement,
    K::Set<F, (usize, usize)>: AttemptSet<F, (usize, usize)>,
    R: FnMut(C) -> F,
    F: Future<Output = (C, O)>,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<O>,
    L: Failures<Arg = usize, Error = J::Error>,
{
    type Output = (Option<C>, Result<Won<usize, J::Value>, GenericRaceError<L>>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.as_mut().poll_result(cx));
        self.project().race.set(None);
        Poll::Ready(result)
    }
}

impl<R: fmt::Debug, J, L: Failures> fmt::Debug for Retrying<R, J, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrying")
            .field("race", &self.race)
            .field("failed", &self.failed.total())
            .finish_non_exhaustive()
    }
}
