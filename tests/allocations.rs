//! The exact number of allocations of a race and its set of attempts.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    future::{Pending, pending, poll_fn, ready},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::Stream;
use race::{
    Attempts, Backoff, BoxTimer, Budget, GenericRace, InlineRace, Moment, OnFailure, Timer,
    core::{Race, placement::OneWaker},
    observe::Staircase,
    test::VirtualClock,
    tokio::TokioTimer,
};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to the system's allocator.
#[allow(unsafe_code, reason = "a global allocator is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        BYTES.set(BYTES.get().wrapping_add(layout.size()));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the output of `run`, the number of allocations, and the bytes that it keeps.
fn counted<T>(run: impl FnOnce() -> T) -> (T, usize, usize) {
    let (calls, bytes) = (CALLS.get(), BYTES.get());
    let output = run();
    (output, CALLS.get() - calls, BYTES.get().wrapping_sub(bytes))
}

fn poll<S: Stream>(stream: Pin<&mut S>) -> Poll<Option<S::Item>> {
    stream.poll_next(&mut Context::from_waker(Waker::noop()))
}

const DELAY: Duration = Duration::from_millis(50);

#[test]
fn race_with_ready_first_attempt_allocates_once() {
    let (_, calls, _) = counted(|| {
        let mut race = race::tokio::Race::of(DELAY, [1, 2, 3].map(ready));
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 1);
}

#[test]
fn inline_race_allocates_nothing() {
    let (_, calls, _) = counted(|| {
        let race = InlineRace::<3, _, _>::at(TokioTimer::new()).of(DELAY, [1, 2, 3].map(ready));
        let mut race = pin!(race);
        assert_eq!(poll(race.as_mut()), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 0);
}

/// A timer on a count of milliseconds, whose owner polls without being woken.
#[derive(Clone, Copy)]
struct Millis<'a>(&'a Cell<u64>);

impl Timer for Millis<'_> {
    fn now(&self) -> Moment {
        Moment::from(Duration::from_millis(self.0.get()))
    }

    fn poll_until(self: Pin<&mut Self>, deadline: Moment, _: &mut Context<'_>) -> Poll<()> {
        match self.now() < deadline {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

/// Polls a race to its end, once in each millisecond.
fn run_to_end<F: Future>(race: F, millis: &Cell<u64>) -> F::Output {
    let mut race = pin!(race);
    loop {
        match race.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => return output,
            Poll::Pending => millis.set(millis.get() + 1),
        }
    }
}

#[test]
fn inline_race_allocates_nothing_for_failures_timeouts_and_the_deadline() {
    let millis = Cell::new(0);
    let timer = Millis(&millis);
    let (ended, calls, _) = counted(|| {
        let run = |index: usize| async move {
            let latency = Duration::from_millis([30, 900, 20, 40, 900][index]);
            let mut timer = timer;
            let at = timer.now() + latency;
            poll_fn(|cx| Pin::new(&mut timer).poll_until(at, cx)).await;
            Err::<(), _>(index)
        };
        let race = InlineRace::<2, _, _>::at(timer)
            .from_fn(DELAY, run)
            .attempt_timeout(Duration::from_millis(100))
            .deadline(Duration::from_millis(200))
            .max_attempts(5);
        run_to_end(race.first_ok(), &millis)
    });
    assert_eq!(calls, 0);
    let error = ended.expect_err("every attempt fails");
    assert_eq!(millis.get(), 200);
    assert_eq!(
        error.to_string(),
        "no attempt won before the deadline: 2 earlier failures omitted; #1: timed out after 100ms; #3: 3"
    );
}

#[test]
fn consecutive_attempts_share_memory() {
    let clock = VirtualClock::new();
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, (0..).map(ready));
    assert!(poll(Pin::new(&mut race)).is_ready());
    let (_, calls, _) = counted(|| {
        for _ in 0..1_000 {
            assert!(poll(Pin::new(&mut race)).is_ready());
        }
    });
    assert_eq!(calls, 0);
}

#[test]
fn race_with_one_waker_allocates_only_for_its_peak() {
    let clock = VirtualClock::new();
    let (race, calls, _) = counted(|| {
        let attempts = (0..).map(ready);
        GenericRace::<OneWaker, _, _>::at(clock.timer()).of(Duration::ZERO, attempts)
    });
    assert_eq!((race.len(), calls), (0, 0));
    let mut race = race;
    let (_, calls, _) = counted(|| {
        for _ in 0..1_000 {
            assert!(poll(Pin::new(&mut race)).is_ready());
        }
    });
    assert_eq!(calls, 2); // the only block, and the list of blocks
    let attempts = std::iter::repeat_with(|| Large(pending(), [0; 16])).take(31);
    let race = GenericRace::<OneWaker, _, _>::at(clock.timer()).of(Duration::ZERO, attempts);
    let mut race = race;
    let (_, calls, bytes) = counted(|| assert!(poll(Pin::new(&mut race)).is_pending()));
    // Blocks of 1, 2, 4, 8 and 16, and their list, which grows once.
    assert_eq!((race.len(), calls), (31, 7));
    assert!(bytes <= 31 * (size_of::<Large>() + 32) + 128);
}

/// A future of 128 bytes that is never ready.
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
        attempts.push(Large(pending(), [0; 16]));
    }
    assert!(poll(Pin::new(&mut attempts)).is_pending());
    attempts
}

#[test]
fn set_needs_little_more_memory_than_its_futures() {
    for (count, beyond, calls) in [(1, 0, 1), (8, 32 * 8, 5), (1_024, 2_150, 33)] {
        let (set, called, bytes) = counted(|| running(count));
        assert_eq!(called, calls, "calls for {count}");
        let over = bytes - count * size_of::<Large>();
        assert!(over <= beyond, "{over} bytes beyond {count} futures");
        drop(set);
    }
}

#[test]
fn presized_set_allocates_its_futures_at_once() {
    for (count, calls) in [(1, 1), (2, 3), (64, 3)] {
        let (set, called, bytes) = counted(|| {
            let mut set = Attempts::with_capacity(count);
            (0..count).for_each(|_| set.push(Large(pending(), [0; 16])));
            set
        });
        assert_eq!(called, calls, "calls for {count}"); // the block, and the state of the wakers
        let over = bytes - count * size_of::<Large>();
        assert!(
            over <= if count == 1 { 0 } else { 300 },
            "{over} bytes beyond {count} futures"
        );
        drop(set);
    }
    let (set, calls, bytes) = counted(|| Attempts::<Large>::with_capacity(100));
    assert_eq!((set.len(), calls), (0, 1)); // rounded up to 128 places
    assert!((128 * size_of::<Large>()..128 * size_of::<Large>() + 65).contains(&bytes));
    let (_, calls, _) = counted(|| Attempts::<Large>::with_capacity(0));
    assert_eq!(calls, 0);
}

#[test]
fn empty_set_and_idle_race_allocate_nothing() {
    let (set, calls, _) = counted(Attempts::<Large>::new);
    assert_eq!((set.len(), calls), (0, 0));
    let (race, calls, _) = counted(|| race::tokio::Race::of(DELAY, [ready(1)]));
    assert_eq!((race.len(), calls), (0, 0));
}

#[test]
fn options_allocate_nothing_except_observers_and_timeouts() {
    let budget = Budget::percent(10);
    let (_, calls, _) = counted(|| {
        let mut race = race::tokio::Race::of(DELAY, [1, 2, 3].map(ready))
            .backoff(Backoff::new(DELAY))
            .budget(&budget)
            .gate(|_| true)
            .max_attempts(2)
            .min_gap(DELAY)
            .deadline(DELAY)
            .on_failure(OnFailure::Any);
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 1);
    let (_, calls, _) = counted(|| {
        let attempts = [pending::<()>(), pending()];
        let race = race::tokio::Race::of(Duration::MAX, attempts);
        let mut race = race.attempt_timeout(Duration::MAX);
        assert_eq!(poll(Pin::new(&mut race)), Poll::Pending);
    });
    assert_eq!(calls, 1); // a timeout that never expires needs no list
    let (_, calls, _) = counted(|| {
        let race = InlineRace::<3, _, _>::at(TokioTimer::new()).of(DELAY, [1, 2, 3].map(ready));
        let mut race = pin!(race.attempt_timeout(DELAY).deadline(DELAY));
        assert_eq!(poll(race.as_mut()), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 0);
    let (_, calls, _) = counted(|| {
        let race = race::tokio::Race::of(DELAY, [1, 2, 3].map(ready));
        let mut race = race.on_event(|_| {});
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 2);
    let (_, calls, _) = counted(|| {
        let race = race::tokio::Race::of(DELAY, [1, 2, 3].map(ready));
        let mut race = race.observer(((), None::<Staircase>));
        assert_eq!(poll(Pin::new(&mut race)), Poll::Ready(Some((0, 1))));
    });
    assert_eq!(calls, 1);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn idle_race_is_small() {
    assert_eq!(size_of::<Attempts<Large>>(), 56);
    // The source, a vector, takes 40 bytes.
    // Two pointers are for options that are not set; see `Timeouts` and `Stagger`.
    let race = race::tokio::Race::of(DELAY, Vec::<Pending<()>>::new());
    assert_eq!(size_of_val(&race), 376);
}

#[test]
fn clone_of_a_boxed_timer_allocates_once() {
    let timer = BoxTimer::new(VirtualClock::new().timer());
    let (clone, calls, _) = counted(|| timer.clone());
    assert_eq!(calls, 1);
    let (_again, calls, _) = counted(|| clone.clone());
    assert_eq!(calls, 1); // a clone of a clone is not boxed twice
}

#[test]
fn dropped_set_frees_its_memory() {
    let before = BYTES.get();
    drop(running(5_000));
    assert_eq!(BYTES.get(), before);
}
