//! Runs the suite of races, and prints the name of each check that passed and their number. Exits
//! with 0, or with 101 after a panic.

#![no_std]
#![no_main]

mod clock;
mod executor;
#[cfg(feature = "alloc")]
mod heap;

#[cfg_attr(target_arch = "arm", path = "machine/cortex_m.rs")]
#[cfg_attr(target_arch = "riscv32", path = "machine/riscv.rs")]
mod machine;

use core::time::Duration;

use race_embassy::EmbassyTimer;
use race_suite::{ClockKind, Target, WakerKind};
use semihosting::println;

/// Embassy on QEMU, whose clock counts instructions (`-icount`): 125 of them take a microsecond.
struct Embassy;

impl Target for Embassy {
    type Timer = EmbassyTimer;
    type Sleep = embassy_time::Timer;
    const CLOCK: ClockKind = ClockKind::Exact;
    const WAKERS: WakerKind = match cfg!(feature = "generic-queue") {
        true => WakerKind::Any,
        false => WakerKind::Task,
    };

    fn timer(&self) -> EmbassyTimer {
        EmbassyTimer::new()
    }

    fn sleep(&self, duration: Duration) -> embassy_time::Timer {
        let millis = duration.as_secs() * 1_000 + u64::from(duration.subsec_millis());
        embassy_time::Timer::after_millis(millis)
    }
}

/// Runs the suite. The machine calls it once, with interrupts enabled.
fn start() -> ! {
    #[cfg(feature = "alloc")]
    heap::init();
    executor::run(|spawner| spawner.spawn(suite().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn suite() {
    let passed = race_suite::run(&Embassy, &mut |name| println!("{name}")).await;
    println!("{passed} passed");
    semihosting::process::exit(0);
}
