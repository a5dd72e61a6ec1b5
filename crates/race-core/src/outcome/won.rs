use core::time::Duration;

/// The attempt that won a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Won<A, V> {
    /// The argument of the attempt; for `Race::of` its index in the iterator.
    pub arg: A,
    /// The output of the attempt; for `first_ok` the value in its `Ok`.
    pub output: V,
    /// The index of the attempt: the number of attempts that started before it.
    pub index: usize,
    /// The time from the start of the first attempt to the win.
    ///
    /// Zero if the race ended in its first poll, because no clock is read there. If the race was
    /// polled as a stream before, the time before the first read of the clock is not included.
    pub elapsed: Duration,
}
