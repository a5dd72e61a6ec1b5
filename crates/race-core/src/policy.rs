use core::time::Duration;

/// When attempts start, as long as nothing fails: the step before each.
///
/// [`Fixed`] is the one that a race has unless it is given another by `Race::policy`. Any
/// `FnMut(usize) -> Option<Duration>` is a policy too.
pub trait Policy {
    /// How long after the attempt before it attempt `place` starts, for `place` from 1 upwards.
    ///
    /// It is asked once for each place, when the attempt before it starts. Zero starts it at once,
    /// `None` only when a failure calls for it. Steps beyond the range of a [`Moment`], about 584
    /// years, are `None`.
    ///
    /// [`Moment`]: crate::Moment
    fn step(&mut self, place: usize) -> Option<Duration>;
}

/// The same step between any two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(pub Duration);

impl Policy for Fixed {
    fn step(&mut self, _: usize) -> Option<Duration> {
        Some(self.0)
    }
}

impl<F: FnMut(usize) -> Option<Duration>> Policy for F {
    fn step(&mut self, place: usize) -> Option<Duration> {
        self(place)
    }
}
