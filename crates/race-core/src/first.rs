use core::{
    error, fmt,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{Policy, Race, Timer, Won, attempts::Finished, source::Source};

/// The future of [`Race::first`]: the first attempt to finish wins, and the others are cancelled.
///
/// # Cancel safety
///
/// Dropping it cancels the race. To stop waiting and go on later, await `&mut` of it.
///
/// # Panics
///
/// As polling a [`Race`] does, and when it is polled again after it was ready.
pub struct First<S: Source, T, P> {
    /// Taken by the winner.
    race: Option<Race<S, T, P>>,
}

impl<S: Source, T, P> First<S, T, P> {
    pub(crate) fn new(race: Race<S, T, P>) -> Self {
        Self { race: Some(race) }
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> Future for First<S, T, P> {
    type Output = Result<Won<S::Arg, S::Output>, NoCandidates>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let race = self.race.as_mut().expect("`First` was ready already");
        let Poll::Ready(finished) = race.poll_finished(cx) else {
            race.note_began();
            return Poll::Pending;
        };
        let won = finished.map(|Finished { place, arg, output }| Won {
            arg,
            output,
            place,
            elapsed: race.elapsed(),
        });
        self.race = None;
        Poll::Ready(won.ok_or(NoCandidates))
    }
}

impl<S: Source, T, P: Policy> fmt::Debug for First<S, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("First").field("race", &self.race).finish()
    }
}

/// The race had no candidates, so it has no winner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCandidates;

impl fmt::Display for NoCandidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no candidates to race: give at least one")
    }
}

impl error::Error for NoCandidates {}
