use core::{iter::Fuse, time::Duration};

use crate::Policy;

/// A step for each attempt, from a list or any iterator; the last is repeated.
///
/// Without any, only a failure starts the next attempt.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Policy, Steps};
///
/// // Two at once, a third after 10 ms, and from then on one every 50 ms.
/// let mut steps = Steps::new([0, 10, 50].map(Duration::from_millis));
/// let millis = [1, 2, 3, 4].map(|place| steps.step(place).unwrap().as_millis());
/// assert_eq!(millis, [0, 10, 50, 50]);
/// ```
#[derive(Clone, Debug)]
pub struct Steps<I> {
    steps: Fuse<I>,
    last: Option<Duration>,
}

impl<I: Iterator<Item = Duration>> Steps<I> {
    /// The first step is the one before the second attempt, which has place 1.
    pub fn new(steps: impl IntoIterator<IntoIter = I>) -> Self {
        Self {
            steps: steps.into_iter().fuse(),
            last: None,
        }
    }
}

impl<I: Iterator<Item = Duration>> Policy for Steps<I> {
    fn step(&mut self, _: usize) -> Option<Duration> {
        self.last = self.steps.next().or(self.last);
        self.last
    }
}
