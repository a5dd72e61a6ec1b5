//! The contenders, reduced to the measured operations. A value is a word. Peers that need an id get
//! one; for the hashed wheel the value is the id, which favors it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashSet, binary_heap::PeekMut},
    future::poll_fn,
    sync::LazyLock,
    time::Duration,
};

use hierarchical_hash_wheel_timer::{
    IdOnlyTimerEntry,
    wheels::{Skip, cancellable::QuadWheelWithOverflow},
};
use race_wheel::Tick;
use tokio::runtime::{Builder, Runtime};
use tokio_util::time::{DelayQueue, delay_queue};

pub(crate) trait Timers {
    const NAME: &'static str;
    type Key;

    fn new() -> Self;
    /// `at` is in milliseconds from now, at least one.
    fn insert(&mut self, at: u64, value: u64) -> Self::Key;
    fn cancel(&mut self, key: Self::Key);
    /// Expires everything, from deadline to deadline. No deadline is later than `end`.
    fn expire(&mut self, end: u64, each: impl FnMut(u64));
}

pub(crate) struct Wheel(race_wheel::Wheel<u64>);

fn millis(at: u64) -> Tick {
    Tick::new(at * 1_000_000)
}

impl Timers for Wheel {
    const NAME: &'static str = "race-wheel";
    type Key = race_wheel::Key;

    fn new() -> Self {
        Self(race_wheel::Wheel::new(1_000_000))
    }

    #[inline]
    fn insert(&mut self, at: u64, value: u64) -> Self::Key {
        self.0.insert(millis(at), value)
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        self.0.cancel(key);
    }

    fn expire(&mut self, _: u64, mut each: impl FnMut(u64)) {
        while let Some(deadline) = self.0.next_deadline() {
            self.0.poll(deadline).for_each(&mut each);
        }
    }
}

/// The paused clock of `DelayQueue`, which is advanced.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime without I/O")
});

pub(crate) struct Delays(DelayQueue<u64>);

impl Timers for Delays {
    const NAME: &'static str = "DelayQueue (tokio-util)";
    type Key = delay_queue::Key;

    fn new() -> Self {
        Self(DelayQueue::new())
    }

    #[inline]
    fn insert(&mut self, at: u64, value: u64) -> Self::Key {
        self.0.insert(value, Duration::from_millis(at))
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        self.0.remove(&key);
    }

    /// Advances the clock once to the end: advancing it costs more than everything else.
    fn expire(&mut self, end: u64, mut each: impl FnMut(u64)) {
        RUNTIME.block_on(tokio::task::unconstrained(async {
            tokio::time::advance(Duration::from_millis(end + 1)).await;
            while let Some(expired) = poll_fn(|cx| self.0.poll_expired(cx)).await {
                each(expired.into_inner());
            }
        }));
    }
}

pub(crate) struct Hashed(QuadWheelWithOverflow<IdOnlyTimerEntry<u64>>);

impl Timers for Hashed {
    const NAME: &'static str = "hierarchical_hash_wheel_timer 1.4";
    type Key = u64;

    fn new() -> Self {
        Self(QuadWheelWithOverflow::new())
    }

    #[inline]
    fn insert(&mut self, at: u64, value: u64) -> Self::Key {
        let delay = Duration::from_millis(at);
        let inserted = self.0.insert(IdOnlyTimerEntry { id: value, delay });
        inserted.expect("it is in the future");
        value
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        self.0.cancel(&key).expect("it is there");
    }

    fn expire(&mut self, _: u64, mut each: impl FnMut(u64)) {
        loop {
            match self.0.can_skip() {
                Skip::Empty => return,
                Skip::Millis(millis) => self.0.skip(millis),
                Skip::None => {}
            }
            for entry in self.0.tick() {
                each(entry.id);
            }
        }
    }
}

pub(crate) struct Map(BTreeMap<(u64, u64), u64>);

impl Timers for Map {
    const NAME: &'static str = "BTreeMap by (time, id)";
    type Key = (u64, u64);

    fn new() -> Self {
        Self(BTreeMap::new())
    }

    #[inline]
    fn insert(&mut self, at: u64, value: u64) -> Self::Key {
        self.0.insert((at, value), value);
        (at, value)
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        self.0.remove(&key);
    }

    fn expire(&mut self, _: u64, mut each: impl FnMut(u64)) {
        while let Some(((now, _), _)) = self.0.first_key_value() {
            let now = *now;
            while let Some(first) = self.0.first_entry().filter(|it| it.key().0 <= now) {
                each(first.remove());
            }
        }
    }
}

pub(crate) struct Heap(BinaryHeap<Reverse<(u64, u64, u64)>>, HashSet<u64>);

impl Timers for Heap {
    const NAME: &'static str = "BinaryHeap and a dead set";
    type Key = u64;

    fn new() -> Self {
        Self(BinaryHeap::new(), HashSet::new())
    }

    #[inline]
    fn insert(&mut self, at: u64, value: u64) -> Self::Key {
        self.0.push(Reverse((at, value, value)));
        value
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        self.1.insert(key);
    }

    fn expire(&mut self, _: u64, mut each: impl FnMut(u64)) {
        while let Some(Reverse((now, ..))) = self.0.peek().copied() {
            while let Some(first) = self.0.peek_mut().filter(|it| it.0.0 <= now) {
                let Reverse((_, id, value)) = PeekMut::pop(first);
                if !self.1.remove(&id) {
                    each(value);
                }
            }
        }
    }
}
