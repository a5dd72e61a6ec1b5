//! Arms, polls once and disarms a timer, while 10,000 others of its kind are armed.

use std::{
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use race_core::Timer as _;
use race_thread::ThreadTimer;

use crate::table::{self, Row, Side};

const OTHERS: usize = 10_000;
const ROUNDS: usize = 15;
const SLICE: Duration = Duration::from_millis(10);
/// The pause after each slice, in which the threads of the contender become idle.
const REST: Duration = Duration::from_millis(10);

/// The deadlines of the other timers; later than both.
const SOON: Duration = Duration::from_millis(250);
const HOUR: Duration = Duration::from_secs(3_600);

struct Contender {
    name: &'static str,
    side: Side,
    /// Runs this many turns, with deadlines this far ahead.
    run: Box<dyn FnMut(u64, Far)>,
}

/// Returns how far ahead the next deadline is.
type Far = fn() -> Duration;

/// A deadline among the others, and one before all others, as a race often has it.
const DISTANCES: [Far; 2] = [anywhere, || SOON];

fn anywhere() -> Duration {
    let hour = HOUR.as_nanos() as u64;
    Duration::from_nanos(fastrand::u64(hour..2 * hour))
}

pub(crate) fn among_ten_thousand() {
    let mut cx = Context::from_waker(Waker::noop());
    let others = (0..OTHERS).map(|_| {
        let far = anywhere();
        let mut thread = race_thread::sleep(far);
        let mut async_io = async_io::Timer::after(far);
        let mut futures_timer = futures_timer::Delay::new(far);
        let mut tokio = Box::pin(tokio::time::sleep(far));
        assert!(Pin::new(&mut thread).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut async_io).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut futures_timer).poll(&mut cx).is_pending());
        assert!(tokio.as_mut().poll(&mut cx).is_pending());
        (thread, async_io, futures_timer, tokio)
    });
    let others: Vec<_> = others.collect();
    thread::sleep(REST);

    let mut contenders = contenders();
    let mut rows: Vec<Row> = contenders.iter().map(row).collect();
    for (column, far) in DISTANCES.into_iter().enumerate() {
        let turns: Vec<u64> = contenders.iter_mut().map(|it| calibrate(it, far)).collect();
        for _ in 0..ROUNDS {
            for ((it, row), turns) in contenders.iter_mut().zip(&mut rows).zip(&turns) {
                let each = time(it, *turns, far).as_nanos() as f64 / *turns as f64;
                row.samples[column].push(each);
            }
        }
    }
    drop(black_box(others));
    table::print(
        "arm, poll, disarm with 10,000 others armed; ns",
        &["among them", "before all"],
        0.5,
        &rows,
    );
}

/// Each contender twice: disarmed at the end of a turn, and set again while it is armed.
fn contenders() -> Vec<Contender> {
    let mut kept = async_io::Timer::never();
    let mut kept_delay = futures_timer::Delay::new(HOUR);
    let mut kept_sleep = Box::pin(tokio::time::sleep(HOUR));
    let (mut timer, mut kept_timer) = (ThreadTimer::new(), ThreadTimer::new());
    vec![
        contender("ThreadTimer (race-thread)", Side::Ours, move |far, cx| {
            let mut timer = Pin::new(&mut timer);
            let deadline = timer.now() + far;
            let polled = timer.as_mut().poll_until(deadline, cx);
            timer.disarm();
            polled.is_pending()
        }),
        contender("ThreadTimer, set again", Side::Ours, move |far, cx| {
            let mut timer = Pin::new(&mut kept_timer);
            let deadline = timer.now() + far;
            timer.as_mut().poll_until(deadline, cx).is_pending()
        }),
        contender("Timer (async-io)", Side::Peer, |far, cx| {
            Pin::new(&mut async_io::Timer::after(far))
                .poll(cx)
                .is_pending()
        }),
        contender("Timer (async-io), set again", Side::Peer, move |far, cx| {
            kept.set_after(far);
            Pin::new(&mut kept).poll(cx).is_pending()
        }),
        contender("Delay (futures-timer)", Side::Peer, |far, cx| {
            Pin::new(&mut futures_timer::Delay::new(far))
                .poll(cx)
                .is_pending()
        }),
        contender(
            "Delay (futures-timer), reset",
            Side::Peer,
            move |far, cx| {
                kept_delay.reset(far);
                Pin::new(&mut kept_delay).poll(cx).is_pending()
            },
        ),
        contender("Sleep (tokio)", Side::Shown, |far, cx| {
            pin!(tokio::time::sleep(far)).poll(cx).is_pending()
        }),
        contender("Sleep (tokio), reset", Side::Shown, move |far, cx| {
            kept_sleep.as_mut().reset(tokio::time::Instant::now() + far);
            kept_sleep.as_mut().poll(cx).is_pending()
        }),
    ]
}

fn contender(
    name: &'static str,
    side: Side,
    mut turn: impl FnMut(Duration, &mut Context<'_>) -> bool + 'static,
) -> Contender {
    let run = Box::new(move |turns, far: Far| {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..turns {
            assert!(turn(far(), &mut cx), "the deadline is far ahead");
        }
    });
    Contender { name, side, run }
}

fn row(contender: &Contender) -> Row {
    Row {
        name: contender.name,
        side: contender.side,
        samples: vec![Vec::new(); DISTANCES.len()],
    }
}

/// Returns the number of turns that take one slice.
fn calibrate(contender: &mut Contender, far: Far) -> u64 {
    let mut turns = 64;
    loop {
        let took = time(contender, turns, far);
        if took >= SLICE / 2 {
            let scale = SLICE.as_secs_f64() / took.as_secs_f64();
            return (turns as f64 * scale) as u64;
        }
        turns *= 2;
    }
}

fn time(contender: &mut Contender, turns: u64, far: Far) -> Duration {
    let begun = Instant::now();
    (contender.run)(black_box(turns), far);
    let took = begun.elapsed();
    thread::sleep(REST);
    took
}
