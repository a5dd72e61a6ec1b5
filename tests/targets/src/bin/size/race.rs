//! An `InlineRace` of four.

#![no_std]
#![no_main]

mod ask;

use core::time::Duration;

use race_embassy::InlineRace;

async fn race() -> u32 {
    let delay = Duration::from_millis(ask::DELAY.as_millis());
    let won = InlineRace::<4, _>::new(delay, |&index| ask::ask(index), 0..4)
        .first()
        .await;
    won.map_or(u32::MAX, |won| won.output)
}

#[race_targets::entry]
fn main() -> ! {
    ask::run(|spawner| spawner.spawn(task().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn task() {
    ask::measured(race()).await;
}
