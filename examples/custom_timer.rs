//! A timer of one's own, in about 20 lines: here over futures-timer's `Delay`, so that a race runs on
//! any executor. The conformance suite then says whether it keeps the contract.
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
use race::{Moment, Timer, conformance, core::Race};

/// `Delay` has no notion of never, so a long wait goes in laps.
const LAP: Duration = Duration::from_secs(3_600);

struct DelayTimer {
    epoch: Instant,
    /// What `delay` is set for, and the `delay`; made when something must really wait.
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
                return Poll::Ready(()); // as often as it is asked
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
            delay.reset(lap); // a lap is over, or the clocks differ by a hair
        }
    }
}

fn main() -> io::Result<()> {
    let epoch = Instant::now();
    let timer = || DelayTimer::new(epoch);

    let attempts = [("slow", 300), ("quick", 30)].map(|(name, millis)| async move {
        Delay::new(Duration::from_millis(millis)).await;
        name
    });
    let race = Race::of_with(timer(), Duration::from_millis(50), attempts);
    match block_on(race.first()) {
        Ok(won) => {
            let millis = won.elapsed.as_millis();
            writeln!(io::stdout(), "{} won after {millis} ms", won.output)?;
        }
        Err(error) => writeln!(io::stdout(), "{error}")?,
    }

    block_on(conformance::timer(timer));
    writeln!(io::stdout(), "the timer keeps the contract")
}
