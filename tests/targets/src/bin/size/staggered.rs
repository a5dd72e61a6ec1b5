//! A staggered race of four, written by hand.

#![no_std]
#![no_main]

mod ask;

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use embassy_time::Timer;

async fn race() -> u32 {
    let mut attempts: [Pin<&mut _>; 4] = [
        pin!(ask::ask(0)),
        pin!(ask::ask(1)),
        pin!(ask::ask(2)),
        pin!(ask::ask(3)),
    ];
    let (mut started, mut due) = (1, Timer::after(ask::DELAY));
    poll_fn(|cx| {
        loop {
            for attempt in &mut attempts[..started] {
                if let Poll::Ready(output) = attempt.as_mut().poll(cx) {
                    return Poll::Ready(output);
                }
            }
            if started == 4 || Pin::new(&mut due).poll(cx).is_pending() {
                return Poll::Pending;
            }
            (started, due) = (started + 1, Timer::after(ask::DELAY));
        }
    })
    .await
}

#[race_targets::entry]
fn main() -> ! {
    ask::run(|spawner| spawner.spawn(task().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn task() {
    ask::measured(race()).await;
}
