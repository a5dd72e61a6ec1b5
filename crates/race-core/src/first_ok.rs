use alloc::vec::Vec;
use core::{
    error, fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::{
    NoCandidates, Won,
    course::Finished,
    racing::{Arg, Racing},
    running::Running as _,
    source::Source,
};

/// How many failures one poll takes before it yields to its executor, since each may start another.
const FAILURES_PER_POLL: usize = 32;

pin_project! {
    /// The future of `Race::first_ok`: the first `Ok` wins, and the others are cancelled.
    ///
    /// The next attempt starts at once when the latest to start has failed, so a step is never waited
    /// out with nothing running. Every error is kept until the end.
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the race. To stop waiting and go on later, await `&mut` of it.
    ///
    /// # Panics
    ///
    /// As polling a race does, and when it is polled again after it was ready.
    pub struct FirstOk<R: Racing, E> {
        // Taken by the winner.
        #[pin]
        race: Option<R>,
        failed: Vec<Failed<Arg<R>, E>>,
    }
}

impl<R: Racing, E> FirstOk<R, E> {
    pub(crate) fn new(race: R) -> Self {
        Self {
            race: Some(race),
            failed: Vec::new(),
        }
    }
}

impl<R, V, E> Future for FirstOk<R, E>
where
    R: Racing<Source: Source<Output = Result<V, E>>>,
{
    type Output = Result<Won<Arg<R>, V>, FirstOkError<Arg<R>, E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        let race = this.race.as_mut().as_pin_mut();
        let (mut running, course) = race.expect("`FirstOk` was ready already").parts();
        let mut failures = 0;
        let ended = loop {
            if running.len() == 0 {
                course.stagger.make_due();
            }
            let polled = match failures {
                FAILURES_PER_POLL => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                _ => course.poll_finished(running.as_mut(), cx),
            };
            let Poll::Ready(finished) = polled else {
                course.note_began();
                return Poll::Pending;
            };
            let Some(Finished { place, arg, output }) = finished else {
                let mut failed = mem::take(this.failed);
                failed.sort_unstable_by_key(|failed| failed.place);
                break Err(match failed.is_empty() {
                    true => FirstOkError::NoCandidates,
                    false => FirstOkError::AllFailed(failed),
                });
            };
            match output {
                Ok(output) => {
                    let elapsed = course.elapsed();
                    break Ok(Won {
                        arg,
                        output,
                        place,
                        elapsed,
                    });
                }
                Err(error) => {
                    course.stagger.failed(place);
                    this.failed.push(Failed { arg, place, error });
                    failures += 1;
                }
            }
        };
        this.race.set(None);
        Poll::Ready(ended)
    }
}

impl<R: Racing + fmt::Debug, E> fmt::Debug for FirstOk<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstOk")
            .field("race", &self.race)
            .field("failed", &self.failed.len())
            .finish()
    }
}

/// An attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed<A, E> {
    /// Its argument; for `Race::of` its place in the iterator.
    pub arg: A,
    /// As how manieth it started, counted from 0.
    pub place: usize,
    /// Why.
    pub error: E,
}

/// Why `Race::first_ok` has no winner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstOkError<A, E> {
    /// There was nothing to race.
    NoCandidates,
    /// Every attempt failed: each one's error, in the order of the candidates.
    AllFailed(Vec<Failed<A, E>>),
}

impl<A, E: fmt::Display> fmt::Display for FirstOkError<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = match self {
            Self::NoCandidates => return NoCandidates.fmt(f),
            Self::AllFailed(failed) => failed,
        };
        match failed.len() {
            1 => f.write_str("the only attempt failed")?,
            count => write!(f, "all {count} attempts failed")?,
        }
        for (index, Failed { place, error, .. }) in failed.iter().enumerate() {
            let separator = if index == 0 { ':' } else { ';' };
            write!(f, "{separator} #{place}: {error}")?;
        }
        Ok(())
    }
}

/// The source is the first candidate's error.
impl<A: fmt::Debug, E: error::Error + 'static> error::Error for FirstOkError<A, E> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::NoCandidates => None,
            Self::AllFailed(failed) => failed.first().map(|failed| &failed.error as _),
        }
    }
}
