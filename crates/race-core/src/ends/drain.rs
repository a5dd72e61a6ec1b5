use alloc::vec::Vec;
use core::pin::Pin;

use super::{
    Failed, One, RaceError, Won,
    goal::{Ended, Goal},
};
use crate::racing::Racing;

/// The first that is accepted; and the race comes back with it, to be drained.
#[derive(Clone, Debug)]
pub struct Drain<A, V>(One<A, V>);

impl<A, V> Drain<A, V> {
    pub(crate) fn new() -> Self {
        Self(One::new())
    }
}

impl<R: Racing + Unpin, A, V, E> Goal<R, A, V, E> for Drain<A, V> {
    type Output = (Result<Won<A, V>, RaceError<A, E>>, R);

    fn accept(&mut self, won: Won<A, V>) {
        Goal::<R, A, V, E>::accept(&mut self.0, won);
    }

    fn is_reached(&self) -> bool {
        Goal::<R, A, V, E>::is_reached(&self.0)
    }

    fn end(
        &mut self,
        ended: Ended<A, E>,
        failed: Vec<Failed<A, E>>,
        mut race: Pin<&mut Option<R>>,
    ) -> Self::Output {
        let answer = self.0.end(ended, failed, race.as_mut());
        let mut race = race.get_mut().take().expect("a race ends once");
        Pin::new(&mut race).parts().1.stop();
        (answer, race)
    }
}
