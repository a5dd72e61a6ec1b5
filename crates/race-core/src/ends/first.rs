use core::{
    error, fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use super::Won;
use crate::{
    What,
    course::Finished,
    ends::Unlimited,
    racing::{Arg, Output, Racing},
};

pin_project! {
    /// The future of `Race::first`: the first attempt to finish wins, and the others are cancelled.
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the race. To stop waiting and go on later, await `&mut` of it.
    ///
    /// # Panics
    ///
    /// As polling a race does, and when it is polled again after it was ready.
    pub struct First<R> {
        // Taken by the winner.
        #[pin]
        race: Option<R>,
    }
}

impl<R> First<R> {
    pub(crate) fn new(race: R) -> Self {
        Self { race: Some(race) }
    }
}

impl<R: Racing> Future for First<R> {
    type Output = Result<Won<Arg<R>, Output<R>>, NoCandidates>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        let race = this.race.as_mut().as_pin_mut();
        let (running, course) = race.expect("`First` was ready already").parts();
        let Poll::Ready(finished) = course.poll_finished(running, &mut Unlimited, cx) else {
            course.note_began();
            return Poll::Pending;
        };
        let won = finished.map(|Finished { place, arg, output }| {
            course.stagger.note(place, What::Won);
            Won {
                arg,
                output,
                place,
                elapsed: course.elapsed(),
            }
        });
        this.race.set(None);
        Poll::Ready(won.ok_or(NoCandidates))
    }
}

impl<R: fmt::Debug> fmt::Debug for First<R> {
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
