use alloc::vec::Vec;
use core::pin::Pin;

use super::{
    Failed, One, RaceError, Won,
    goal::{Goal, Lost},
};
use crate::racing::Racing;

/// The first that is accepted; and the race comes back with it, to be drained.
#[derive(Clone, Copy, Debug)]
pub struct Drain;

impl<R: Racing + Unpin, A, V, E> Goal<R, A, V, E> for Drain {
    type Output = (Result<Won<A, V>, RaceError<A, E>>, R);
    type Reached = Won<A, V>;

    fn accept(&mut self, won: Won<A, V>) -> Option<Won<A, V>> {
        Some(won)
    }

    fn won(&mut self, reached: Won<A, V>, race: Pin<&mut Option<R>>) -> Self::Output {
        (Ok(reached), drained(race))
    }

    fn lost(
        &mut self,
        why: Lost<A, E>,
        failed: Vec<Failed<A, E>>,
        mut race: Pin<&mut Option<R>>,
    ) -> Self::Output {
        let answer: Result<Won<A, V>, _> = One.lost(why, failed, race.as_mut());
        (answer, drained(race))
    }
}

/// The race, which starts no more.
fn drained<R: Racing + Unpin>(race: Pin<&mut Option<R>>) -> R {
    let mut race = race.get_mut().take().expect("a race ends once");
    Pin::new(&mut race).parts().1.stop();
    race
}
