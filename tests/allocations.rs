//! How often a race and its set of attempts ask for memory, exactly.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    future::{Pending, pending, ready},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::Stream;
use race::{
    Attempts, Backoff, Budget, Event, InlineRace, OnFailure, VirtualClock, core::Race,
    tokio::TokioTimer,
};

/// Counts what this thread asks for.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is done by the system's allocator.
#[allow(unsafe_code, reason = "an allocator is")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        BYTES.set(BYTES.get().wrapping_add(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls, and bytes that are kept.
fn counted<T>(what: impl FnOnce() -> T) -> (T, usize, usize) {
    let (calls, bytes) = (CALLS.get(), BYTES.get());
    let output = what();
    (output, CALLS.get() - calls, BYTES.get().wrapping_sub(bytes))
}

fn poll<S: Stream>(stream: Pin<&mut S>) -> Poll<Option<S::Item>> {
    stream.poll_next(&mut Context::from_waker(Waker::noop()))
}

const STEP: Duration = Duration::from_millis(50);

#[test]
fn a_race_whose_first_attempt_is_ready_at_once_allocates_once() {
    let (_, calls, _) = counted(|| {
        let mut race = race::tokio::Race::of(STEP, [1, 2, 3].map(ready));
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 1);
}

#[test]
fn a_race_in_place_allocates_nothing() {
    let (_, calls, _) = counted(|| {
        let race = InlineRace::<3, _, _>::of_with(TokioTimer::new(), STEP, [1, 2, 3].map(ready));
        let mut race = pin!(race);
        assert_eq!(poll(race.as_mut()), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 0);
}

#[test]
fn attempts_that_follow_each_other_share_their_memory() {
    let clock = VirtualClock::new();
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, (0..).map(ready));
    assert!(poll(Pin::new(&mut race)).is_ready());
    let (_, calls, _) = counted(|| {
        for _ in 0..1_000 {
            assert!(poll(Pin::new(&mut race)).is_ready());
        }
    });
    assert_eq!(calls, 0);
}

/// 128 bytes, which are never ready.
struct Large(Pending<()>, [u64; 16]);

impl Future for Large {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        Pin::new(&mut self.0).poll(cx).map(|()| self.1[0])
    }
}

fn running(count: usize) -> Attempts<Large> {
    let mut attempts = Attempts::new();
    for _ in 0..count {
        attempts.push((), Large(pending(), [0; 16]));
    }
    assert!(poll(Pin::new(&mut attempts)).is_pending());
    attempts
}

#[test]
fn the_set_takes_hardly_more_than_its_futures_do() {
    for (count, beyond, calls) in [(1, 0, 1), (8, 32 * 8, 6), (1_024, 5 * 1_024 / 2, 39)] {
        let (set, called, bytes) = counted(|| running(count));
        assert_eq!(called, calls, "calls for {count}");
        let over = bytes - count * size_of::<Large>();
        assert!(over <= beyond, "{over} bytes beyond {count} futures");
        drop(set);
    }
}

#[test]
fn an_empty_set_and_an_idle_race_take_nothing() {
    let (set, calls, _) = counted(Attempts::<Large>::new);
    assert_eq!((set.len(), calls), (0, 0));
    let (race, calls, _) = counted(|| race::tokio::Race::of(STEP, [ready(1)]));
    assert_eq!((race.len(), calls), (0, 0));
}

#[test]
fn rules_gates_and_budgets_allocate_nothing_and_an_observer_keeps_a_list() {
    let budget = Budget::percent(10);
    let (_, calls, _) = counted(|| {
        let race = race::tokio::Race::of(STEP, [1, 2, 3].map(ready));
        let race = race.policy(Backoff::new(STEP)).budget(&budget);
        let race = race.gate(|_| true).max_attempts(2).min_gap(STEP);
        let mut race = race.on_failure(OnFailure::Any);
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 1);
    let (_, calls, _) = counted(|| {
        let race = race::tokio::Race::of(STEP, [1, 2, 3].map(ready));
        let mut race = race.observer(|_| {});
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 2);
    let (_, calls, _) = counted(|| {
        let race = race::tokio::Race::of(STEP, [1, 2, 3].map(ready));
        let mut race = race.observer(((), None::<fn(Event)>));
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 1);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn an_idle_race_is_small() {
    assert_eq!(size_of::<Attempts<Large>>(), 56);
    // A race of three words of candidates: the set, the candidate in hand, the source, the clock.
    let race = race::tokio::Race::of(STEP, Vec::<Pending<()>>::new());
    assert_eq!(size_of_val(&race), 264);
}

#[test]
fn whatever_a_set_has_taken_it_gives_back() {
    let before = BYTES.get();
    drop(running(5_000));
    assert_eq!(BYTES.get(), before);
}
