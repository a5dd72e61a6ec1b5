//! `EmbassyTimer` at moments between two ticks, with ticks of a microsecond.

use core::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::executor::{Ran, advance, count, now, run};
use race_core::{Moment, Timer as _};
use race_embassy::EmbassyTimer;

async fn until(nanos: u64) {
    let deadline = Moment::from_nanos(nanos);
    poll_fn(|cx| Pin::new(&mut EmbassyTimer::new()).poll_until(deadline, cx)).await;
}

fn poll(nanos: u64, waker: &Waker) -> Poll<()> {
    let mut timer = EmbassyTimer::new();
    let deadline = Moment::from_nanos(nanos);
    Pin::new(&mut timer).poll_until(deadline, &mut Context::from_waker(waker))
}

#[test]
fn now_is_in_nanoseconds() {
    run(async {
        assert_eq!(EmbassyTimer::new().now(), Moment::ZERO);
        advance(1_234_567);
        assert_eq!(EmbassyTimer::new().now(), Moment::from_nanos(1_234_567_000));
    });
}

#[test]
fn deadline_is_rounded_up_to_a_tick() {
    for (nanos, tick) in [
        (1, 1),
        (999, 1),
        (1_000, 1),
        (1_001, 2),
        (1_999, 2),
        (7_300_500, 7_301),
    ] {
        let ran = count(until(nanos));
        assert_eq!((ran.ticks, ran.polls), (tick, 2), "{nanos} ns");
    }
}

#[test]
fn passed_deadline_is_ready_at_once() {
    assert_eq!(
        count(until(0)),
        Ran {
            output: (),
            ticks: 0,
            polls: 1
        }
    );
    run(async {
        advance(5);
        for nanos in [0, 1, 4_001, 5_000, 4_999] {
            assert!(poll(nanos, Waker::noop()).is_ready(), "{nanos} ns");
        }
        assert!(poll(5_001, Waker::noop()).is_pending());
    });
}

#[test]
fn deadline_may_move_before_it_passes() {
    let moved = async {
        let far = poll_fn(|cx| Poll::Ready(poll(9_000_000, cx.waker()))).await;
        assert!(far.is_pending());
        until(3_000).await;
        assert_eq!(now(), 3);
        let near = poll_fn(|cx| Poll::Ready(poll(4_000, cx.waker()))).await;
        assert!(near.is_pending());
        until(8_000).await;
    };
    // The poll for tick 4 is woken for, and finds that the deadline is later.
    let ran = count(moved);
    assert_eq!((ran.ticks, ran.polls), (8, 4));
}

#[test]
fn never_waits_for_nothing() {
    let ran = count(async {
        let polled = poll_fn(|cx| Poll::Ready(poll(u64::MAX, cx.waker()))).await;
        assert!(polled.is_pending());
        until(50_000).await;
    });
    assert_eq!((ran.ticks, ran.polls), (50, 2));
}

#[test]
fn copies_wait_independently() {
    let timer = EmbassyTimer::new();
    let ran = count(async {
        for micros in [3, 7] {
            let mut copy = timer;
            let deadline = Moment::from_nanos(micros * 1_000);
            poll_fn(|cx| Pin::new(&mut copy).poll_until(deadline, cx)).await;
        }
    });
    assert_eq!((ran.ticks, ran.polls), (7, 3));
}
