use core::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::FusedFuture;
use pin_project_lite::pin_project;

use super::{
    Failed, Failure, Failures, Verdict, Won,
    goal::{Goal, Missed},
    judge::{Judge, Judged},
};
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    observe::EventKind,
    race::{Expiries, GenericRace, Placement, Schedule, Step},
    source::Source,
};

/// The number of steps, such as finished attempts, that one poll handles before it yields to its
/// executor, because each may make room for another.
pub(super) const STEPS_PER_POLL: usize = 32;

pin_project! {
    /// The future of the result-aware finishers: `first_ok`, `first_ok_by`, `first_by`, `quorum`,
    /// `quorum_by`.
    ///
    /// A failure may start the next attempt: see [`OnFailure`](crate::OnFailure). Failures are kept
    /// until the race ends: all of them on the heap, the latest ones in an `InlineRace`. A result
    /// at the same instant wins over a timeout and the deadline, and those win over a start.
    ///
    /// - `R` is the race.
    /// - `J` classifies the outputs.
    /// - `G` is the goal.
    /// - `L` is the list of failures: a `Vec<Failed<A, E>>` or an `InlineFailures<A, E, N>`.
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the race. To stop waiting and continue later, await `&mut` of it.
    ///
    /// # Panics
    ///
    /// Panics where polling a race does, if the classifier or an observer panics, and if it is
    /// polled again after it was ready. The output that the classifier was given is lost then.
    #[must_use = "futures do nothing unless polled"]
    pub struct Decision<R, J, G, L> {
        // `None` once it was ready.
        #[pin]
        race: Option<R>,
        judge: J,
        goal: G,
        failed: L,
    }
}

impl<R, J, G, L> Decision<R, J, G, L> {
    pub(super) fn new(race: R, judge: J, goal: G) -> Self
    where
        L: Default,
    {
        Self {
            race: Some(race),
            judge,
            goal,
            failed: L::default(),
        }
    }

    pub(super) fn is_decided(&self) -> bool {
        self.race.is_none()
    }

    /// Takes the race, after the decision was made.
    pub(super) fn take_race(self: Pin<&mut Self>) -> R
    where
        R: Unpin,
    {
        let race = self.project().race.get_mut().take();
        race.expect("the race is taken once")
    }
}

/// What follows from a step of the race.
pub(super) enum Outcome<V> {
    Reached(V),
    Missed(Missed),
    Undecided,
}

impl<K, S, T, P, H, J, G, L> Decision<GenericRace<K, S, T, P, H>, J, G, L>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<S::Output>,
    G: Goal<S::Arg, J::Value, L>,
    L: Failures<Arg = S::Arg, Error = J::Error>,
{
    /// Lets attempts run on after another one has committed.
    pub(super) fn keep_losers(self: Pin<&mut Self>) {
        if let Some(race) = self.project().race.as_pin_mut() {
            race.parts().1.let_losers_run_on();
        }
    }

    /// Polls the race until it is decided. Keeps the race.
    #[inline]
    pub(super) fn poll_result(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<G::Value, G::Error>> {
        let this = self.project();
        let race = this.race.as_pin_mut();
        let (mut set, schedule) = race
            .expect("`Decision` is polled after it was ready")
            .parts();
        if let Some(value) = this.goal.reached_at_once() {
            return Poll::Ready(Ok(value));
        }
        for _ in 0..STEPS_PER_POLL {
            schedule.note_running(set.len());
            let in_reach = this.goal.is_in_reach(|| schedule.size_hint(set.len()).1);
            let polled = match in_reach {
                true => schedule.poll_step(set.as_mut(), cx),
                // Starts nothing, and collects what has finished.
                false => schedule.poll_running(set.as_mut(), cx),
            };
            let outcome = match polled {
                Poll::Ready(step) => {
                    schedule.decide(step, set.len(), this.judge, this.goal, this.failed)
                }
                Poll::Pending if !in_reach => Outcome::Missed(schedule.out_of_reach()),
                Poll::Pending => {
                    let at_most = || schedule.size_hint(set.len()).1;
                    if !this.goal.is_in_reach(at_most) {
                        continue; // the source ended in this poll
                    }
                    schedule.note_began();
                    return Poll::Pending;
                }
            };
            match outcome {
                Outcome::Reached(value) => return Poll::Ready(Ok(value)),
                Outcome::Missed(why) => {
                    let failed = mem::take(this.failed);
                    return Poll::Ready(Err(this.goal.missed(why, failed)));
                }
                Outcome::Undecided => {}
            }
        }
        cx.waker().wake_by_ref();
        schedule.clock();
        schedule.note_began();
        schedule.begin_deadline();
        Poll::Pending
    }
}

impl<S: Source, T: Timer, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Decides what follows from a step, after which `running` attempts are running.
    #[inline]
    pub(super) fn decide<J, G, L>(
        &mut self,
        step: Step<S::Arg, S::Output>,
        running: usize,
        judge: &mut J,
        goal: &mut G,
        failed: &mut L,
    ) -> Outcome<G::Value>
    where
        J: Judge<S::Output>,
        G: Goal<S::Arg, J::Value, L>,
        L: Failures<Arg = S::Arg, Error = J::Error>,
    {
        let (arg, index, failure, verdict) = match step {
            Step::Finished { index, arg, output } => match judge.judge(output) {
                Judged::Accepted(_) if !self.claim(index) => return Outcome::Undecided,
                Judged::Accepted(output) => {
                    let elapsed = self.elapsed();
                    self.note_ended(index, EventKind::Won);
                    let won = Won {
                        arg,
                        output,
                        index,
                        elapsed,
                    };
                    return match goal.accept(won) {
                        Some(value) => Outcome::Reached(value),
                        None => Outcome::Undecided,
                    };
                }
                Judged::Rejected(error, verdict) => (arg, index, Failure::Error(error), verdict),
            },
            Step::TimedOut {
                index,
                arg,
                timeout,
            } => (arg, index, Failure::TimedOut(timeout), Verdict::Retryable),
            Step::TakenBack => return Outcome::Undecided,
            Step::Deadline => return Outcome::Missed(Missed::Deadline),
            Step::Exhausted => return Outcome::Missed(self.out_of_reach()),
        };
        // The race has ended for an attempt that committed.
        let verdict = match self.end_handle(index) {
            true => Verdict::Fatal,
            false => verdict,
        };
        let kind = match failure {
            Failure::Error(_) => EventKind::Failed,
            Failure::TimedOut(_) => EventKind::TimedOut,
        };
        let elapsed = self.elapsed();
        failed.push(Failed {
            arg,
            index,
            elapsed,
            failure,
        });
        self.apply_verdict(verdict, index, running);
        self.note_ended(index, kind); // last, because an observer may panic
        match verdict {
            Verdict::Fatal => Outcome::Missed(Missed::Fatal),
            _ => Outcome::Undecided,
        }
    }

    fn out_of_reach(&self) -> Missed {
        match self.had_no_candidates() {
            true => Missed::NoCandidates,
            false => Missed::OutOfReach(self.refusal()),
        }
    }
}

impl<K, S, T, P, H, J, G, L> Future for Decision<GenericRace<K, S, T, P, H>, J, G, L>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<S::Output>,
    G: Goal<S::Arg, J::Value, L>,
    L: Failures<Arg = S::Arg, Error = J::Error>,
{
    type Output = Result<G::Value, G::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.as_mut().poll_result(cx));
        self.project().race.set(None);
        Poll::Ready(result)
    }
}

impl<R: fmt::Debug, J, G, L: Failures> fmt::Debug for Decision<R, J, G, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("race", &self.race)
            .field("failed", &self.failed.total())
            .finish_non_exhaustive()
    }
}

impl<K, S, T, P, H, J, G, L> FusedFuture for Decision<GenericRace<K, S, T, P, H>, J, G, L>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<S::Output>,
    G: Goal<S::Arg, J::Value, L>,
    L: Failures<Arg = S::Arg, Error = J::Error>,
{
    fn is_terminated(&self) -> bool {
        self.is_decided()
    }
}
