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
    goal::{Goal, Lost},
    judge::{Judge, Judged},
    limits::{Expired, Judging},
};
use crate::{
    Policy, What,
    attempts::AttemptSet as _,
    course::{Course, Finished},
    racing::{Arg, Output, Racing},
    source::Source,
};

/// How many attempts that end one poll takes before it yields to its executor, since each may make room for
/// another.
const ENDS_PER_POLL: usize = 32;

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
    /// As polling a race does, if the classifier or the observer does, and when it is polled again after it
    /// was ready. What the classifier was shown is lost then.
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
    /// Without it none is: the step starts others, and cancels nobody.
    ///
    /// Zero leaves an attempt the one poll with which it starts. Set it before the first poll. If the race
    /// was read as a stream before, and attempts run already, theirs counts from that poll.
    #[must_use = "futures do nothing unless polled"]
    pub fn attempt_timeout(self, timeout: Duration) -> Decision<R, J, G, Limited> {
        let mut limited = self.limited();
        limited.limits.attempt_timeout = timeout;
        limited
    }

    /// The race is over when it has gone on for this long since this was first polled, whatever runs then.
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
        if !this.limits.has_begun() && running.len() > 0 {
            course.limit_running(running.as_mut(), this.limits);
        }
        let mut ended = 0;
        let decided = loop {
            if let Some(reached) = this.goal.reached_at_once() {
                break Ok(reached);
            }
            if !this.goal.is_in_reach(|| course.size_hint(running.len()).1) {
                break Err(over(course));
            }
            if ended == ENDS_PER_POLL {
                cx.waker().wake_by_ref();
                course.note_began();
                course.begin(this.limits);
                return Poll::Pending;
            }
            if running.len() == 0 && !course.stagger.is_due() {
                course.stagger.idle();
            }
            let polled = course.poll_finished(running.as_mut(), this.limits, cx);
            let (failed, verdict) = match polled {
                Poll::Ready(Some(Finished { place, arg, output })) => {
                    this.limits.finished(place);
                    let judged = this.judge.judge(output);
                    let elapsed = course.elapsed();
                    match judged {
                        Judged::Accepted(output) => {
                            course.stagger.note(place, What::Won);
                            let won = Won {
                                arg,
                                output,
                                place,
                                elapsed,
                            };
                            if let Some(reached) = this.goal.accept(won) {
                                break Ok(reached);
                            }
                            ended += 1;
                            continue;
                        }
                        Judged::Rejected(error, verdict) => {
                            let failure = Failure::Error(error);
                            let failed = Failed {
                                arg,
                                place,
                                elapsed,
                                failure,
                            };
                            (failed, verdict)
                        }
                    }
                }
                Poll::Ready(None) => break Err(over(course)),
                Poll::Pending => match this.limits.expired() {
                    None => {
                        course.note_began();
                        return Poll::Pending;
                    }
                    Some(Expired::Deadline) => break Err(Lost::Deadline),
                    Some(Expired::Attempt(timed_out, after)) => {
                        let removed = running.as_mut().remove(|&(_, place)| place == timed_out);
                        let Some((arg, place)) = removed else {
                            continue; // it panicked
                        };
                        let failed = Failed {
                            arg,
                            place,
                            elapsed: course.elapsed(),
                            failure: Failure::TimedOut(after),
                        };
                        (failed, Verdict::Retryable)
                    }
                },
            };
            // All is in order before the observer is told, which may panic.
            let (place, timed_out) = (failed.place, failed.failure.error().is_none());
            let fatal = match verdict {
                Verdict::Fatal => Some(failed),
                _ => {
                    match verdict {
                        Verdict::NotBefore(delay) => course.not_before(delay),
                        Verdict::NoMoreStarts => course.stop(),
                        _ => {}
                    }
                    course.stagger.failed(place, running.len());
                    this.failed.push(failed);
                    None
                }
            };
            let what = match timed_out {
                true => What::TimedOut,
                false => What::Failed,
            };
            course.stagger.note(place, what);
            if let Some(fatal) = fatal {
                break Err(Lost::Fatal(fatal));
            }
            ended += 1;
        };
        let output = match decided {
            Ok(reached) => this.goal.won(reached, this.race.as_mut()),
            Err(why) => {
                let failed = in_order(mem::take(this.failed));
                this.goal.lost(why, failed, this.race.as_mut())
            }
        };
        this.race.set(None);
        Poll::Ready(output)
    }
}

#[cold]
fn in_order<A, E>(mut failed: Vec<Failed<A, E>>) -> Vec<Failed<A, E>> {
    failed.sort_unstable_by_key(|failed| failed.place);
    failed
}

/// It cannot be won any more.
fn over<S: Source, T, P: Policy, A, E>(course: &Course<S, T, P>) -> Lost<A, E> {
    match course.stagger.starts() {
        0 if course.size_hint(0).1 == Some(0) => Lost::Empty,
        _ => Lost::OutOfReach,
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
