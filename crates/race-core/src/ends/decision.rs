use alloc::vec::Vec;
use core::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;

use super::{
    Failed, Failure, Limited, Unlimited, Verdict, Won,
    goal::{Ended, Goal},
    judge::{Judge, Judged},
    limits::{Expired, Judging},
};
use crate::{
    Policy, What,
    course::{Course, Finished},
    racing::{Arg, Output, Racing},
    running::Running as _,
    source::Source,
};

/// How many failures one poll takes before it yields to its executor, since each may start another.
const FAILURES_PER_POLL: usize = 32;

pin_project! {
    /// The future of the ends that tell success from failure: `Race::first_ok`, `first_by`, `quorum`,
    /// `quorum_by`, `first_ok_then_drain`, `first_by_then_drain`.
    ///
    /// A failure may start the next attempt at once: [`OnFailure`](crate::OnFailure). Every failure is kept
    /// until the end. A result beats a timeout or deadline of the same instant, and those beat a start.
    ///
    /// - `R` is the race.
    /// - `J` says what the outputs mean.
    /// - `G` is the goal: what it takes, and what comes back.
    /// - `L` are the limits, none unless [`attempt_timeout`](Self::attempt_timeout) or
    ///   [`deadline`](Self::deadline) set them.
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the race. To stop waiting and go on later, await `&mut` of it.
    ///
    /// # Panics
    ///
    /// As polling a race does, if the classifier does, and when it is polled again after it was ready.
    pub struct Decision<R: Racing, J: Judge<Output<R>>, G, L = Unlimited> {
        // Taken in the end.
        #[pin]
        race: Option<R>,
        judge: J,
        goal: G,
        limits: L,
        failed: Vec<Failed<Arg<R>, J::Error>>,
    }
}

impl<R: Racing, J: Judge<Output<R>>, G> Decision<R, J, G> {
    pub(crate) fn new(race: R, judge: J, goal: G) -> Self {
        Self {
            race: Some(race),
            judge,
            goal,
            limits: Unlimited,
            failed: Vec::new(),
        }
    }
}

impl<R: Racing, J: Judge<Output<R>>, G, L: Judging> Decision<R, J, G, L> {
    /// An attempt that has run for this long is cancelled, and counts as a failure of the retryable kind.
    /// Never by itself: the step starts others, and cancels none.
    ///
    /// Zero leaves an attempt the one poll with which it starts. Set it before the first poll.
    #[must_use = "futures do nothing unless polled"]
    pub fn attempt_timeout(self, timeout: Duration) -> Decision<R, J, G, Limited> {
        let mut limited = self.limited();
        limited.limits.attempt_timeout = timeout;
        limited
    }

    /// The race is over when it has gone on for this long since its first poll, whatever runs then.
    ///
    /// Zero leaves it that poll. Set it before.
    #[must_use = "futures do nothing unless polled"]
    pub fn deadline(self, deadline: Duration) -> Decision<R, J, G, Limited> {
        let mut limited = self.limited();
        limited.limits.deadline = deadline;
        limited
    }

    fn limited(self) -> Decision<R, J, G, Limited> {
        Decision {
            race: self.race,
            judge: self.judge,
            goal: self.goal,
            limits: self.limits.limited(),
            failed: self.failed,
        }
    }
}

impl<R, J, G, L> Future for Decision<R, J, G, L>
where
    R: Racing,
    J: Judge<Output<R>>,
    G: Goal<R, Arg<R>, J::Value, J::Error>,
    L: Judging,
{
    type Output = G::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        let race = this.race.as_mut().as_pin_mut();
        let (mut running, course) = race.expect("the race was decided already").parts();
        let mut failures = 0;
        let ended = loop {
            if this.goal.is_reached() {
                break Ended::Reached;
            }
            if !this.goal.is_in_reach(|| course.size_hint(running.len()).1) {
                break over(course);
            }
            if failures == FAILURES_PER_POLL {
                cx.waker().wake_by_ref();
                course.note_began();
                return Poll::Pending;
            }
            if running.len() == 0 {
                course.stagger.idle();
            }
            let Poll::Ready(finished) = course.poll_finished(running.as_mut(), this.limits, cx)
            else {
                match this.limits.expired() {
                    None => {
                        course.note_began();
                        return Poll::Pending;
                    }
                    Some(Expired::Deadline) => break Ended::Deadline,
                    Some(Expired::Attempt(timed_out, after)) => {
                        let removed = running.as_mut().remove(|&(_, place)| place == timed_out);
                        if let Some((arg, place)) = removed {
                            course.stagger.note(place, What::TimedOut);
                            course.stagger.failed(place, running.len());
                            this.failed.push(Failed {
                                arg,
                                place,
                                elapsed: course.elapsed(),
                                failure: Failure::TimedOut(after),
                            });
                            failures += 1;
                        }
                        continue;
                    }
                }
            };
            let Some(Finished { place, arg, output }) = finished else {
                break over(course);
            };
            this.limits.finished(place);
            let judged = this.judge.judge(output);
            let elapsed = course.elapsed();
            let (error, verdict) = match judged {
                Judged::Accepted(output) => {
                    course.stagger.note(place, What::Won);
                    this.goal.accept(Won {
                        arg,
                        output,
                        place,
                        elapsed,
                    });
                    continue;
                }
                Judged::Rejected(error, verdict) => (error, verdict),
            };
            course.stagger.note(place, What::Failed);
            let failed = Failed {
                arg,
                place,
                elapsed,
                failure: Failure::Error(error),
            };
            match verdict {
                Verdict::Fatal => break Ended::Fatal(failed),
                Verdict::NotBefore(delay) => course.not_before(delay),
                Verdict::NoMoreStarts => course.stop(),
                Verdict::Accept | Verdict::Retryable => {}
            }
            course.stagger.failed(place, running.len());
            this.failed.push(failed);
            failures += 1;
        };
        let mut failed = mem::take(this.failed);
        failed.sort_unstable_by_key(|failed| failed.place);
        let output = this.goal.end(ended, failed, this.race.as_mut());
        this.race.set(None);
        Poll::Ready(output)
    }
}

/// It cannot be won any more.
fn over<S: Source, T, P: Policy, A, E>(course: &Course<S, T, P>) -> Ended<A, E> {
    match course.stagger.starts() {
        0 if course.size_hint(0).1 == Some(0) => Ended::Empty,
        _ => Ended::OutOfReach,
    }
}

impl<R: Racing + fmt::Debug, J: Judge<Output<R>>, G, L> fmt::Debug for Decision<R, J, G, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("race", &self.race)
            .field("failed", &self.failed.len())
            .finish_non_exhaustive()
    }
}
