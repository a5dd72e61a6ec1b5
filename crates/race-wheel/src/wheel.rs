use core::{fmt, num::NonZeroU64};

use crate::{Expired, Key, Tick, queue::Queue, table::Table};

/// Timers by the million: values that expire, in order of their deadlines.
///
/// It has no clock and never waits. Its owner tells it what time it is: [`poll`](Wheel::poll) gives what has
/// expired by then, and [`next_deadline`](Wheel::next_deadline) says when to poll next.
///
/// - **Never early**: a deadline counts as the next multiple of the resolution, and expires at the first
///   poll at or after that. So polled in time, it is late by less than the resolution.
/// - **In order** of deadlines so rounded, then of insertion. What is inserted for a moment that has passed
///   expires at the next poll, in the same order, so before all that is later.
/// - **Never**: [`Tick::NEVER`], and what rounds up to it or beyond, does not expire; it can be cancelled.
/// - **Time does not go backwards**: a poll for a moment before that of an earlier poll is a poll for the
///   latest so far.
///
/// # Cost
///
/// Inserting and cancelling take constant time, but for growing and shrinking memory, and logarithmic time for
/// what has passed already or is beyond the levels; expiring takes constant time, too, over the life of a
/// timer, which is moved at most 5 times on its way, and once more if it was beyond the six levels of 64
/// buckets (at a resolution of 1 ms, more than some 2.2 years away). Time in which nothing expires is jumped
/// over. One poll may have to move many timers that expire later.
///
/// A timer takes 25 bytes beyond its value, and up to a third more for room to grow (if the value's size is a
/// multiple of 8); about twice that if its deadline had passed when it was armed. What is cancelled gives its value back at once; the rest of it, 16 bytes, is swept up
/// later, four steps with each operation while more than half is such. Memory goes back after bursts: that
/// of a span of time once it is over, that of the values when all have left by a poll, or bit by bit as long
/// as the last of them are not armed.
///
/// ```
/// use race_wheel::{Tick, Wheel};
///
/// let at = Tick::new; // milliseconds
/// let mut wheel = Wheel::new(1);
/// let tea = wheel.insert(at(180_000), "tea");
/// wheel.insert(at(300_000), "eggs");
/// wheel.insert(at(5_000), "stir");
///
/// assert_eq!(wheel.next_deadline(), Some(at(5_000)));
/// assert_eq!(wheel.poll(at(60_000)).collect::<Vec<_>>(), ["stir"]);
/// assert_eq!(wheel.cancel(tea), Some("tea"));
/// assert_eq!(wheel.poll(at(300_000)).next(), Some("eggs"));
/// assert!(wheel.is_empty());
/// ```
pub struct Wheel<V> {
    pub(crate) table: Table<V>,
    pub(crate) queue: Queue,
    /// The latest that `poll` was told, in ticks.
    pub(crate) now: u64,
    /// Ticks in one unit of the queue.
    resolution: NonZeroU64,
    #[cfg(test)]
    pub(crate) steps: usize,
}

impl<V> Wheel<V> {
    /// A wheel with nothing in it, and no memory. Zero is the finest resolution: 1 ns.
    ///
    /// The six levels span 2<sup>36</sup> times the resolution; what is beyond costs a little more.
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

    /// Arms a timer: the value expires at this moment.
    ///
    /// # Panics
    ///
    /// With 2<sup>32</sup> - 1 timers armed, or after 2<sup>60</sup> insertions (36 years of one a
    /// nanosecond).
    pub fn insert(&mut self, at: Tick, value: V) -> Key {
        let key = self.table.insert(value);
        self.queue.insert(self.round_up(at), key);
        self.tidy();
        key
    }

    /// Takes a value out before it expires. `None` if the key is stale.
    pub fn cancel(&mut self, key: Key) -> Option<V> {
        let value = self.table.remove(key)?;
        self.tidy();
        Some(value)
    }

    /// Puts a timer off, or forward: as if it were cancelled and inserted again, but its value stays where it
    /// is. Answers with its new key, as the old one is stale now; `None` if it was already.
    ///
    /// # Panics
    ///
    /// As [`insert`](Wheel::insert) does, after so many insertions.
    #[must_use = "the old key is stale"]
    pub fn reschedule(&mut self, key: Key, at: Tick) -> Option<Key> {
        let key = self.table.renew(key)?;
        self.queue.insert(self.round_up(at), key);
        self.tidy();
        Some(key)
    }

    /// The value of a timer. `None` if the key is stale.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&V> {
        self.table.get(key)
    }

    /// The value of a timer, to change it. `None` if the key is stale.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        self.table.get_mut(key)
    }

    /// What has expired at this moment, the earliest first, one by one as it is asked for. What is not
    /// asked for comes at the next poll.
    pub fn poll(&mut self, now: Tick) -> Expired<'_, V> {
        // What is due at `NEVER` is not due even then.
        let now = now.value().min(u64::MAX - 1) / self.resolution;
        self.now = self.now.max(now);
        self.queue.skip_to(self.now);
        self.tidy();
        Expired { wheel: self }
    }

    /// When to poll next; `None` if nothing will expire.
    ///
    /// Never later than the first moment at which [`poll`](Wheel::poll) gives something. It is that moment,
    /// unless timers near it were cancelled or rescheduled; then it may be earlier, and moves on when the
    /// wheel is polled. It may have passed.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        let count = self.queue.earliest().saturating_mul(self.resolution.get());
        let tick = Tick::new(count);
        (tick != Tick::NEVER).then_some(tick)
    }

    /// How many timers are armed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no timer is armed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Drops all timers and gives memory back. Their keys are stale; the time stays what it is.
    pub fn clear(&mut self) {
        self.queue = Queue::new();
        self.queue.skip_to(self.now);
        // Last, as a value's drop may panic.
        drop(self.table.take());
    }

    /// All timers, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        self.table.iter()
    }

    /// What a deadline counts as, in ticks.
    fn round_up(&self, at: Tick) -> u64 {
        at.value().div_ceil(self.resolution.get())
    }

    /// A few steps of what is left to be done.
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
