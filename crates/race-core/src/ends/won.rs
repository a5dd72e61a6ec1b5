/// The attempt that won a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Won<A, V> {
    /// Its argument; for `Race::of` its place in the iterator.
    pub arg: A,
    /// What it gave.
    pub output: V,
    /// Its place: how many had started before it.
    pub place: usize,
    /// How long the race took, from the start of its first attempt. Zero if the race was over in
    /// its first poll, for which no clock is read; and without what went before the first reading, if
    /// the race was polled as a stream at first.
    pub elapsed: core::time::Duration,
}
