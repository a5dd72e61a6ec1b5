use core::{iter::Fuse, time::Duration};

use crate::{Policy, observe::Cause};

/// A list of delays, one for each attempt from the second on; the last one repeats.
///
/// An empty list starts further attempts only after failures.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Policy, Steps, observe::Cause};
///
/// // Two attempts at once, a third after 10 ms, then one every 50 ms.
/// let mut steps = Steps::new([0, 10, 50].map(Duration::from_millis));
/// let delays = [1, 2, 3, 4].map(|index| steps.delay(index, Cause::Delay).unwrap().as_millis());
/// assert_eq!(delays, [0, 10, 50, 50]);
/// ```
#[derive(Clone, Debug)]
pub struct Steps<I> {
    delays: Fuse<I>,
    last: Option<Duration>,
}

impl<I: Iterator<Item = Duration>> Steps<I> {
    /// Takes the delays of an iterator on demand. The first is the delay before attempt 1, the
    /// second attempt.
    pub fn new(delays: impl IntoIterator<IntoIter = I>) -> Self {
        Self {
            delays: delays.into_iter().fuse(),
            last: None,
        }
    }
}

impl<I: Iterator<Item = Duration>> Policy for Steps<I> {
    fn delay(&mut self, _: usize, _: Cause) -> Option<Duration> {
        self.last = self.delays.next().or(self.last);
        self.last
    }
}
