//! Races without `std`: a superloop, a counter as the clock, and a bump allocator. Exits with 0 if
//! each race has the expected result.

#![no_std]
#![no_main]

#[cfg(feature = "alloc")]
mod memory;
mod ticks;

use core::{
    cell::Cell,
    panic::PanicInfo,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use race_core::{InlineRace, Moment, Stagger, Won, outcome::GenericRaceError, stagger::Next};

use crate::ticks::Ticks;

const DELAY: Duration = Duration::from_nanos(50);

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The precompiled `core` refers to it. `std` would define it too, and linking would fail.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    if !stagger_alone() {
        return 1;
    }
    if !inline() {
        return 2;
    }
    if !failures_inline() {
        return 3;
    }
    if !tuple_inline() {
        return 4;
    }
    #[cfg(feature = "alloc")]
    if !on_the_heap() {
        return 5;
    }
    0
}

/// Drives the state machine from a loop with a counter.
fn stagger_alone() -> bool {
    let mut stagger = Stagger::new(Duration::from_nanos(5));
    let mut starts = [u64::MAX; 3];
    for tick in 0..20 {
        let now = Moment::from_nanos(tick);
        let due = match stagger.next(0, || now) {
            Next::Start => true,
            Next::Until(moment) => now >= moment,
            _ => false,
        };
        if due && stagger.starts() < starts.len() {
            starts[stagger.started()] = tick;
            stagger.clock(|| now);
        }
    }
    starts == [0, 5, 10]
}

/// Three attempts, which start at 0, 50 and 100. The second one wins at 70.
fn attempts(ticks: &Cell<u64>) -> [impl Future<Output = ()>; 3] {
    [100, 20, 80].map(|latency| async move {
        let (mut timer, deadline) = (Ticks(ticks), ticks.get() + latency);
        let deadline = Moment::from_nanos(deadline);
        core::future::poll_fn(|cx| {
            race_core::Timer::poll_until(Pin::new(&mut timer), deadline, cx)
        })
        .await;
    })
}

fn inline() -> bool {
    let ticks = Cell::new(0);
    let attempts = attempts(&ticks);
    second_wins(
        InlineRace::<2, _, _>::at(Ticks(&ticks))
            .of(DELAY, attempts)
            .first(),
        &ticks,
    )
}

/// Two attempts of different types. The second one wins, as `attempts` has it.
fn tuple_inline() -> bool {
    let ticks = Cell::new(0);
    let [slow, fast, _] = attempts(&ticks);
    let attempts = (slow, async { fast.await });
    let race = InlineRace::<2, _, _>::at(Ticks(&ticks)).of(DELAY, attempts);
    second_wins(race.first(), &ticks)
}

/// Three attempts, one after another, which start at 0, 20 and 100. Two fail, the third times out.
fn failures_inline() -> bool {
    let ticks = Cell::new(0);
    let [slow, fast, fair] = attempts(&ticks);
    let attempts = [(0, fast), (1, fair), (2, slow)].map(|(index, attempt)| async move {
        attempt.await;
        Err::<(), _>(index)
    });
    let race = InlineRace::<1, _, _>::at(Ticks(&ticks))
        .of(DELAY, attempts)
        .attempt_timeout(Duration::from_nanos(90))
        .deadline(Duration::from_nanos(500));
    let Err(error) = run(race.first_ok(), &ticks) else {
        return false;
    };
    let total = match &error {
        GenericRaceError::AllFailed { failed, .. } => failed.total(),
        _ => 0,
    };
    let timed_out = error
        .failed()
        .iter()
        .all(|it| it.index == 2 && it.failure.error().is_none());
    total == 3 && timed_out && error.failed().len() == 1 && ticks.get() == 190
}

#[cfg(feature = "alloc")]
fn on_the_heap() -> bool {
    let ticks = Cell::new(0);
    let attempts = attempts(&ticks);
    second_wins(
        race_core::Race::at(Ticks(&ticks))
            .of(DELAY, attempts)
            .first(),
        &ticks,
    )
}

fn second_wins(race: impl Future<Output = Option<Won<usize, ()>>>, ticks: &Cell<u64>) -> bool {
    run(race, ticks).is_some_and(|won| won.index == 1) && ticks.get() == 70
}

/// Polls a future to its end, with one tick per poll.
fn run<F: Future>(race: F, ticks: &Cell<u64>) -> F::Output {
    let mut race = pin!(race);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match race.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => ticks.set(ticks.get() + 1),
        }
    }
}
