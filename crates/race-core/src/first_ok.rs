use alloc::vec::Vec;
use core::{
    error, fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{NoCandidates, Policy, Race, Timer, Won, attempts::Finished, source::Source};

/// The future of [`Race::first_ok`]: the first `Ok` wins, and the others are cancelled.
///
/// The next attempt starts at once when the latest to start has failed, so a step is never waited
/// out with nothing running.
///
/// # Cancel safety
///
/// Dropping it cancels the race. To stop waiting and go on later, await `&mut` of it.
///
/// # Panics
///
/// As polling a [`Race`] does, and when it is polled again after it was ready.
pub struct FirstOk<S: Source, T, P, E> {
    /// Taken by the winner.
    race: Option<Race<S, T, P>>,
    failed: Vec<Failed<S::Arg, E>>,
}

/// Nothing in it is pinned in place.
impl<S: Source, T, P, E> Unpin for FirstOk<S, T, P, E> {}

impl<S: Source, T, P, E> FirstOk<S, T, P, E> {
    pub(crate) fn new(race: Race<S, T, P>) -> Self {
        Self {
            race: Some(race),
            failed: Vec::new(),
        }
    }
}

impl<S, T, P, V, E> Future for FirstOk<S, T, P, E>
where
    S: Source<Output = Result<V, E>>,
    T: Timer + Unpin,
    P: Policy,
{
    type Output = Result<Won<S::Arg, V>, FirstOkError<S::Arg, E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let race = this.race.as_mut().expect("`FirstOk` was ready already");
        let ended = loop {
            race.start_if_idle();
            let Poll::Ready(finished) = race.poll_finished(cx) else {
                race.note_began();
                return Poll::Pending;
            };
            match finished {
                Some(Finished { place, arg, output }) => match output {
                    Ok(output) => {
                        let elapsed = race.elapsed();
                        break Ok(Won {
                            arg,
                            output,
                            place,
                            elapsed,
                        });
                    }
                    Err(error) => {
                        race.failed(place);
                        this.failed.push(Failed { arg, place, error });
                    }
                },
                None if this.failed.is_empty() => break Err(FirstOkError::NoCandidates),
                None => {
                    let mut failed = mem::take(&mut this.failed);
                    failed.sort_unstable_by_key(|failed| failed.place);
                    break Err(FirstOkError::AllFailed(failed));
                }
            }
        };
        this.race = None;
        Poll::Ready(ended)
    }
}

impl<S: Source, T, P: Policy, E> fmt::Debug for FirstOk<S, T, P, E> {
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

/// Why [`Race::first_ok`] has no winner.
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
