//! RISC-V: the timer of the CLINT interrupts when something is due.

use riscv::{
    interrupt::Interrupt,
    register::{mie, mstatus},
};
use riscv_rt::core_interrupt;

use crate::clock;

/// The CLINT of QEMU's `virt`, in halves of 32 bits. It counts at 10 MHz.
const COMPARE: *mut u32 = 0x0200_4000 as *mut u32;
const TIME: *const u32 = 0x0200_bff8 as *const u32;
const COUNTS_PER_MILLISECOND: u64 = 10_000;

/// Starts the clock and enables interrupts.
pub fn start_clock() {
    arm(u64::MAX);
    // SAFETY: the timer is armed for never, and its handler exists.
    unsafe {
        mie::set_mtimer();
        mstatus::set_mie();
    }
}

#[core_interrupt(Interrupt::MachineTimer)]
fn timer() {
    clock::tick();
}

/// The time in milliseconds.
pub(crate) fn now() -> u64 {
    // SAFETY: the registers exist, and reading them has no effect.
    let read = || unsafe { (TIME.add(1).read_volatile(), TIME.read_volatile()) };
    let (mut high, mut low) = read();
    loop {
        let again = read();
        if again.0 == high {
            break;
        }
        (high, low) = again;
    }
    (u64::from(high) << 32 | u64::from(low)) / COUNTS_PER_MILLISECOND
}

/// Arms the timer for a millisecond.
pub(crate) fn arm(millisecond: u64) {
    let count = millisecond.saturating_mul(COUNTS_PER_MILLISECOND);
    // SAFETY: the registers exist. The high half is never between the old and the new moment.
    unsafe {
        COMPARE.add(1).write_volatile(u32::MAX);
        COMPARE.write_volatile(count as u32);
        COMPARE.add(1).write_volatile((count >> 32) as u32);
    }
}

pub(crate) fn wait_for_interrupt() {
    riscv::asm::wfi();
}
