//! Cortex-M: the SysTick interrupts once in a millisecond.

use core::cell::Cell;

use cortex_m::{Peripherals, peripheral::syst::SystClkSource};
use cortex_m_rt::exception;
use critical_section::Mutex;

use crate::clock;

/// The frequency of QEMU's processor: `microbit`, or `mps2-an385` and `mps2-an386`.
const HERTZ: u32 = match cfg!(feature = "microbit") {
    true => 16_000_000,
    false => 25_000_000,
};

static TICKS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// Starts the clock and enables interrupts.
pub fn start_clock() {
    let mut timer = Peripherals::take().expect("it is taken once").SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(HERTZ / 1_000 - 1);
    timer.clear_current();
    timer.enable_interrupt();
    timer.enable_counter();
}

#[exception]
fn SysTick() {
    critical_section::with(|section| {
        let ticks = TICKS.borrow(section);
        ticks.set(ticks.get() + 1);
    });
    clock::tick();
}

/// The time in milliseconds.
pub(crate) fn now() -> u64 {
    critical_section::with(|section| TICKS.borrow(section).get())
}

/// Does nothing: each tick interrupts.
pub(crate) fn arm(_: u64) {}

pub(crate) fn wait_for_interrupt() {
    cortex_m::asm::wfi();
}
