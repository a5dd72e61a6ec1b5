//! A custom timer in about 20 lines, on top of futures-timer's `Delay`: it runs a race on any
//! executor. The conformance suite checks that it keeps the contract of `Timer`.
//!
//! `cargo run --example custom_timer`

use std::{
    io::{self, Write as _},
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures::executor::block_on;
use futures_timer::Delay;
use race::{Moment, Timer, core::Race, test::conformance};

/// The longest wait. `Delay` cannot wait forever, so longer waits are split.
const LAP: Duration = Duration::from_secs(3_600);

struct DelayTimer {
    epoch: Instant,
    /// The deadline that is waited for, and its `Delay`; `None` until the first wait.
    armed: Option<(Moment, Delay)>,
}

impl DelayTimer {
    fn new(epoch: Instant) -> Self {
        Self { epoch, armed: None }
    }
}

impl Timer for DelayTimer {
    fn now(&self) -> Moment {
        Moment::ZERO + self.epoch.elapsed()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let left = deadline.since(this.now());
            if left.is_zero() {
                return Poll::Ready(()); // also if it is polled again
            }
            let lap = left.min(LAP);
            let (armed, delay) = this
                .armed
                .get_or_insert_with(|| (deadline, Delay::new(lap)));
            if *armed != deadline {
                *armed = deadline;
                delay.reset(lap);
            }
            if Pin::new(&mut *delay).poll(cx).is_pending() {
                return Poll::Pending;
            }
            delay.reset(lap); // a lap has ended, or the two clocks differ slightly
        }
    }
}

fn main() -> io::Result<()> {
    let epoch = Instant::now();
    let timer = || DelayTimer::new(epoch);

    let attempts = [("slow", 300), ("fast", 30)].map(|(name, millis)| async move {
        Delay::new(Duration::from_millis(millis)).await;
        name
    });
    let race = Race::at(timer()).of(Duration::from_millis(50), attempts);
    if let Some(won) = block_on(race.first()) {
        let millis = won.elapsed.as_millis();
        writeln!(io::stdout(), "{} won after {millis} ms", won.output)?;
    }

    block_on(conformance::timer(timer));
    writeln!(io::stdout(), "the timer keeps the contract")
}
