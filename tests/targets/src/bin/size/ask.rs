//! What the measured programs share: four attempts of which the third one wins, 120 ms after the
//! start if they start 50 ms apart.

use core::panic::PanicInfo;

use embassy_time::{Duration, Timer};
use race_targets::{executor, machine, measure};
use semihosting::process;

/// How long each attempt takes.
pub(crate) const LATENCIES: [u64; 4] = [500, 400, 20, 10];

/// The time between two starts.
pub(crate) const DELAY: Duration = Duration::from_millis(50);

const WINNER: u32 = 2;

/// An attempt.
pub(crate) async fn ask(index: u32) -> u32 {
    Timer::after_millis(LATENCIES[index as usize]).await;
    index
}

/// Awaits the race, prints the figures, and exits.
pub(crate) async fn measured(race: impl Future<Output = u32>) {
    let size = size_of_val(&race);
    let won = race.await;
    measure::finish(size, won, WINNER)
}

pub(crate) fn run(spawn: impl FnOnce(embassy_executor::Spawner)) -> ! {
    machine::start_clock();
    executor::run(spawn)
}

/// Prints nothing: the text of panics would be a part of the measured program.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    process::exit(101)
}
