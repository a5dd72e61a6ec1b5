//! Embassy's `select4` of four attempts, each after a `Timer`.

#![no_std]
#![no_main]

mod ask;

use embassy_futures::select::{Either4, select4};
use embassy_time::Timer;

async fn race() -> u32 {
    let (one, two, three, four) = (after(0), after(1), after(2), after(3));
    match select4(one, two, three, four).await {
        Either4::First(output)
        | Either4::Second(output)
        | Either4::Third(output)
        | Either4::Fourth(output) => output,
    }
}

async fn after(index: u32) -> u32 {
    Timer::after(ask::DELAY * index).await;
    ask::ask(index).await
}

#[race_targets::entry]
fn main() -> ! {
    ask::run(|spawner| spawner.spawn(task().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn task() {
    ask::measured(race()).await;
}
