//! Races without `std`: a superloop, a counter for a clock, and memory that is handed out once.
//! Exits with 0 if the race went as it must.

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

use race_core::{Fixed, InlineRace, Moment, Next, NoCandidates, Stagger, Won};

use crate::ticks::Ticks;

const STEP: Duration = Duration::from_nanos(50);

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The precompiled `core` names it. `std` would define it too.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    if !stagger_alone() {
        return 1;
    }
    if !in_place() {
        return 2;
    }
    #[cfg(feature = "alloc")]
    if !on_the_heap() {
        return 3;
    }
    0
}

/// Drives the state machine from a loop that looks at a counter.
fn stagger_alone() -> bool {
    let mut stagger = Stagger::new(Fixed(Duration::from_nanos(5)));
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

/// Three attempts at 0, 50 and 100, of which the second is quick and wins at 70.
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

fn in_place() -> bool {
    let ticks = Cell::new(0);
    let attempts = attempts(&ticks);
    second_wins(
        InlineRace::<2, _, _>::of_with(Ticks(&ticks), STEP, attempts).first(),
        &ticks,
    )
}

#[cfg(feature = "alloc")]
fn on_the_heap() -> bool {
    let ticks = Cell::new(0);
    let attempts = attempts(&ticks);
    second_wins(
        race_core::Race::of_with(Ticks(&ticks), STEP, attempts).first(),
        &ticks,
    )
}

/// Polls until the end, a tick each time.
fn second_wins(
    race: impl Future<Output = Result<Won<usize, ()>, NoCandidates>>,
    ticks: &Cell<u64>,
) -> bool {
    let mut race = pin!(race);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match race.as_mut().poll(&mut cx) {
            Poll::Ready(won) => return won.is_ok_and(|won| won.place == 1) && ticks.get() == 70,
            Poll::Pending => ticks.set(ticks.get() + 1),
        }
    }
}
