//! Runs the suite of races, and prints the name of each check that passed and their number. Exits
//! with 0, or with 101 after a panic.

#![no_std]
#![no_main]

use core::{panic::PanicInfo, time::Duration};

use race_embassy::EmbassyTimer;
use race_suite::{ClockKind, Target, WakerKind};
use race_targets::{executor, machine};
use semihosting::{eprintln, println, process};

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

#[race_targets::entry]
fn main() -> ! {
    machine::start_clock();
    // SAFETY: this is the only call, and nothing has allocated before.
    #[cfg(feature = "alloc")]
    unsafe {
        race_targets::heap::init();
    }
    executor::run(|spawner| spawner.spawn(suite().expect("it is spawned once")))
}

#[embassy_executor::task]
async fn suite() {
    let passed = race_suite::run(&Embassy, &mut |name| println!("{name}")).await;
    println!("{passed} passed");
    process::exit(0);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    eprintln!("{info}");
    process::exit(101)
}
