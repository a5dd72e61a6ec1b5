use core::{fmt, mem, num::NonZeroU64};

use crate::{Expired, Key, Tick, queue::Queue, table::Table};

/// A hierarchical timing wheel: values that expire in order of their deadlines.
///
/// The wheel has no clock and never waits. [`poll`](Wheel::poll) takes the current time and returns
/// what has expired by then; [`next_deadline`](Wheel::next_deadline) returns when to poll next.
///
/// - **Never early.** A deadline is rounded up to a multiple of the resolution and expires at the
///   first poll at or after that. If the wheel is polled in time, it is late by less than the
///   resolution.
/// - **In order** of rounded deadlines, then of insertion. A timer inserted for a time that has
///   passed expires at the next poll, in the same order.
/// - **Never.** A deadline of [`Tick::NEVER`], or one that rounds up to it or beyond, does not
///   expire. The timer can be cancelled.
/// - **Time is monotonic.** A poll with an earlier time than the previous one uses the previous
///   time.
///
/// # Cost
///
/// | operation | cost |
/// | --- | --- |
/// | [`insert`](Wheel::insert), [`reschedule`](Wheel::reschedule) | constant; logarithmic for a deadline that has passed or is beyond the levels |
/// | [`cancel`](Wheel::cancel) | constant |
/// | expiring one timer | constant over its life: it is moved at most 5 times, 6 if it was beyond the levels |
/// | [`next_deadline`](Wheel::next_deadline) | constant |
///
/// Growing and shrinking memory is not included. The levels span 2<sup>36</sup> times the
/// resolution, with 1 ms about 2.2 years. Empty time is skipped. One call of `poll` may have to
/// move many timers that expire later; [`poll_limited`](Wheel::poll_limited) bounds that.
///
/// A timer takes 25 bytes beyond its value (if the value's size is a multiple of 8), plus up to a
/// third for growth; about twice that if its deadline had passed at insertion. Cancelling removes
/// the value at once. The remaining 16 bytes are dropped later, four steps with each operation
/// while more than half of them belong to cancelled timers. Memory is given back after bursts: of a
/// span of time when it has passed, of the values when a poll removes the last one, or gradually
/// with each operation.
///
/// # Examples
///
/// ```
/// use race_wheel::{Tick, Wheel};
///
/// let at = |seconds: u64| Tick::new(1_000 * seconds); // a tick is a millisecond
/// let mut wheel = Wheel::new(1);
/// let tea = wheel.insert(at(180), "tea");
/// wheel.insert(at(300), "eggs");
/// wheel.insert(at(5), "stir");
///
/// assert_eq!(wheel.next_deadline(), Some(at(5)));
/// assert_eq!(wheel.poll(at(60)).collect::<Vec<_>>(), ["stir"]);
/// assert_eq!(wheel.cancel(tea), Some("tea"));
/// assert_eq!(wheel.poll(at(300)).next(), Some("eggs"));
/// assert!(wheel.is_empty());
/// ```
pub struct Wheel<V> {
    pub(crate) table: Table<V>,
    pub(crate) queue: Queue,
    /// The latest time of a poll, in multiples of the resolution.
    pub(crate) now: u64,
    /// In ticks.
    resolution: NonZeroU64,
    /// The steps that the last operation took to tidy up.
    #[cfg(test)]
    pub(crate) steps: usize,
}

impl<V> Wheel<V> {
    /// Creates an empty wheel, without allocating.
    ///
    /// `resolution` is in ticks; zero counts as 1. A finer resolution makes the levels span less
    /// time.
    #[must_use]
    pub const fn new(resolution: u64) -> Self {
        let resolution = match NonZeroU64::new(resolution) {
            Some(resolution) => resolution,
            None => NonZeroU64::MIN,
        };
        Self {
            table: Table::new(),
            queue: Queue::new(),
            now: 0,
            resolution,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Arms a timer: `value` expires at `deadline`.
    ///
    /// # Panics
    ///
    /// Panics if 2<sup>32</sup> - 1 timers are armed, or after 2<sup>60</sup> insertions.
    pub fn insert(&mut self, deadline: Tick, value: V) -> Key {
        let key = self.table.insert(value);
        self.queue.insert(self.round_up(deadline), key);
        self.tidy();
        key
    }

    /// Removes a timer and returns its value. Returns `None` if the key is stale.
    pub fn cancel(&mut self, key: Key) -> Option<V> {
        let value = self.table.remove(key)?;
        self.tidy();
        Some(value)
    }

    /// Changes the deadline of a timer and returns its new key. Returns `None` if the key is stale.
    ///
    /// The timer is ordered as if it were cancelled and inserted again, but the value is not moved.
    /// The old key is stale afterwards.
    ///
    /// # Panics
    ///
    /// Panics after 2<sup>60</sup> insertions, like [`insert`](Wheel::insert).
    #[must_use = "the old key is stale"]
    pub fn reschedule(&mut self, key: Key, deadline: Tick) -> Option<Key> {
        let key = self.table.renew(key)?;
        self.queue.insert(self.round_up(deadline), key);
        self.tidy();
        Some(key)
    }

    /// Returns a reference to the value of a timer. Returns `None` if the key is stale.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&V> {
        self.table.get(key)
    }

    /// Returns a mutable reference to the value of a timer. Returns `None` if the key is stale.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        self.table.get_mut(key)
    }

    /// Returns an iterator that removes the values that have expired at `now`, the earliest first.
    ///
    /// The iterator is lazy. Values that are not taken stay in the wheel, for the next poll.
    pub fn poll(&mut self, now: Tick) -> Expired<'_, V> {
        self.advance(now);
        Expired::new(self, None)
    }

    /// Like [`poll`](Wheel::poll), but the iterator ends early once it has looked at `limit`
    /// timers.
    ///
    /// Use it where the time of one call matters, for example under a lock. To look at a timer is
    /// to return its value, to move it nearer to its deadline, or to drop the rest of a cancelled
    /// one. The iterator looks at up to 256 more than `limit` timers, and it looks at a timer a
    /// bounded number of times in all. It does not release the memory of the values;
    /// [`take`](Wheel::take) does.
    ///
    /// There is more to do if [`next_deadline`](Wheel::next_deadline) is not later than `now`. A
    /// `limit` of zero does nothing.
    ///
    /// ```
    /// use race_wheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new(1);
    /// let now = Tick::new(70_000);
    /// for value in 0..1_000 {
    ///     wheel.insert(now, value);
    /// }
    /// let (mut values, mut calls) = (Vec::new(), 0);
    /// while wheel.next_deadline().is_some_and(|deadline| deadline <= now) {
    ///     values.extend(wheel.poll_limited(now, 100));
    ///     calls += 1;
    /// }
    /// assert!(values.into_iter().eq(0..1_000));
    /// assert!(calls >= 10);
    /// ```
    pub fn poll_limited(&mut self, now: Tick, limit: usize) -> Expired<'_, V> {
        self.advance(now);
        Expired::new(self, Some(limit))
    }

    fn advance(&mut self, now: Tick) {
        // A deadline of `NEVER` has not passed even at `NEVER`.
        let now = now.value().min(u64::MAX - 1) / self.resolution;
        self.now = self.now.max(now);
        self.queue.skip_to(self.now);
        self.tidy();
    }

    /// Returns when to poll next, or `None` if no timer will expire.
    ///
    /// It is never later than the first time at which [`poll`](Wheel::poll) returns a value. It may
    /// be earlier if a timer was cancelled or rescheduled, or a poll was limited; polling corrects
    /// that. It may have passed.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        let ticks = self.queue.earliest().saturating_mul(self.resolution.get());
        let deadline = Tick::new(ticks);
        (deadline != Tick::NEVER).then_some(deadline)
    }

    /// Returns the number of armed timers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether no timer is armed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Returns the number of timers that the wheel can hold without allocating memory for values.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// Drops all timers and gives memory back. Their keys are stale afterwards; the time does not
    /// change.
    pub fn clear(&mut self) {
        drop(self.take());
    }

    /// Moves all timers and all memory to a new wheel, in constant time, and leaves this one empty.
    ///
    /// Keys keep their meaning in the returned wheel and are stale in this one. Use it to drop a
    /// large wheel outside a lock.
    #[must_use = "use `clear` to drop the timers"]
    pub fn take(&mut self) -> Self {
        let queue = mem::replace(&mut self.queue, Queue::new());
        self.queue.skip_to(self.now);
        Self {
            table: self.table.take(),
            queue,
            now: self.now,
            resolution: self.resolution,
            #[cfg(test)]
            steps: self.steps,
        }
    }

    /// Returns an iterator over all timers, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        self.table.iter()
    }

    fn round_up(&self, deadline: Tick) -> u64 {
        deadline.value().div_ceil(self.resolution.get())
    }

    /// Takes a few steps of the work that operations leave behind.
    fn tidy(&mut self) {
        let _steps = self.queue.sweep(&self.table) + self.table.trim();
        #[cfg(test)]
        {
            self.steps = _steps;
        }
    }
}

impl<V> fmt::Debug for Wheel<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("len", &self.len())
            .field("next_deadline", &self.next_deadline())
            .field("resolution", &self.resolution)
            .finish()
    }
}

#[cfg(test)]
mod tests;
