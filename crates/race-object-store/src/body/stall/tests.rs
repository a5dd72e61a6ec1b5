use std::{
    future::poll_fn,
    sync::atomic::{AtomicUsize, Ordering},
};

use race_core::{
    Steps,
    test::{VirtualClock, VirtualTimer},
};

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Up to three continuations, the first one after 50 ms.
fn stalls(clock: &VirtualClock) -> Stalls<VirtualTimer, impl Policy + use<>> {
    let limits = Limits {
        max_continuations: 3,
        min_gap: Duration::ZERO,
    };
    let delays = Steps::new([50, 20].map(ms));
    Stalls::new(clock.timer(), delays, limits)
}

fn has_stalled<P: Policy>(stalls: &mut Stalls<VirtualTimer, P>) -> bool {
    let polled = stalls.poll(&mut Context::from_waker(Waker::noop()));
    polled == Poll::Ready(true)
}

#[test]
fn wait_of_the_delay_is_a_stall() {
    let clock = VirtualClock::new();
    let mut stalls = stalls(&clock);
    assert!(!has_stalled(&mut stalls));
    clock.advance(ms(49));
    assert!(!has_stalled(&mut stalls));
    clock.advance(ms(1));
    assert!(has_stalled(&mut stalls));
}

#[test]
fn time_between_a_wake_and_the_next_poll_does_not_count() {
    let clock = VirtualClock::new();
    let mut stalls = stalls(&clock);
    for _ in 0..2 {
        assert!(!has_stalled(&mut stalls));
        let woken = clock.now() + ms(24);
        clock.advance(ms(10_000));
        stalls.end_wait(Some(woken));
    }
    assert!(!has_stalled(&mut stalls), "it has waited for 48 ms");
    clock.advance(ms(2));
    stalls.end_wait(Some(clock.now()));
    assert!(has_stalled(&mut stalls));
}

#[test]
fn stall_that_was_complete_at_the_wake_is_one_however_late_the_poll_is() {
    let clock = VirtualClock::new();
    let mut stalls = stalls(&clock);
    assert!(!has_stalled(&mut stalls));
    let woken = clock.now() + ms(50);
    clock.advance(ms(10_000));
    stalls.end_wait(Some(woken));
    assert!(has_stalled(&mut stalls));
}

#[test]
fn byte_and_continuation_begin_anew() {
    let clock = VirtualClock::new();
    let mut stalls = stalls(&clock);
    assert!(!has_stalled(&mut stalls));
    clock.advance(ms(49));
    stalls.byte();
    assert!(!has_stalled(&mut stalls));
    clock.advance(ms(49));
    assert!(!has_stalled(&mut stalls));
    clock.advance(ms(1));
    assert!(has_stalled(&mut stalls));

    stalls.start();
    assert!(!has_stalled(&mut stalls));
    clock.advance(ms(20));
    assert!(has_stalled(&mut stalls), "after the second delay");
    stalls.start();
    assert_eq!((stalls.can_happen(), stalls.left()), (true, 1));
    stalls.start();
    assert_eq!((stalls.can_happen(), stalls.left()), (false, 0));
}

#[test]
fn stall_wakes_its_reader_when_it_is_complete() {
    let clock = VirtualClock::new();
    let mut stalls = stalls(&clock);
    let stalled = clock.run(poll_fn(|cx| stalls.poll(cx)));
    assert_eq!((stalled, clock.elapsed()), (Ok(true), ms(50)));
}

#[test]
fn nothing_stalls_without_a_delay_or_a_continuation() {
    let clock = VirtualClock::new();
    for (delay, max_continuations) in [(Some(ms(0)), 0), (None, 9)] {
        let limits = Limits {
            max_continuations,
            min_gap: ms(7),
        };
        let stalls = Stalls::new(clock.timer(), move |_: usize| delay, limits);
        assert!(!stalls.can_happen());
    }
    let mut stalls = stalls(&clock);
    stalls.stop();
    assert!(!stalls.can_happen());
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn waker_wakes_the_latest_reader_and_notes_its_first_wake() {
    let clock = VirtualClock::new();
    let woken = Woken::new(clock.timer());
    let waker = Waker::from(woken.clone());
    let readers = [(), ()].map(|()| Arc::new(Wakes::default()));
    for reader in &readers {
        assert_eq!(woken.begin_poll(&reader.clone().into()), None);
    }
    clock.advance(ms(5));
    waker.wake_by_ref();
    clock.advance(ms(5));
    waker.wake();
    let wakes = readers.each_ref().map(|it| it.0.load(Ordering::Relaxed));
    assert_eq!(wakes, [0, 2]);
    let reader = readers[1].clone().into();
    assert_eq!(woken.begin_poll(&reader), Some(Moment::ZERO + ms(5)));
    assert_eq!(woken.begin_poll(&reader), None);
}
