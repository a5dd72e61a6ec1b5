//! Embassy's executor, which sleeps by WFI. Its own thread-mode executor for Cortex-M sleeps by
//! WFE, which QEMU 7 treats as a pause of a busy loop.

use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw::Executor};

use crate::machine;

/// Whether a task was woken.
static WOKEN: AtomicBool = AtomicBool::new(false);

// SAFETY: embassy declares this function with this signature, and nothing else defines it.
#[unsafe(export_name = "__pender")]
fn wake(_: *mut ()) {
    WOKEN.store(true, Ordering::Release);
}

/// Runs the executor with the task that `spawn` spawns.
pub fn run(spawn: impl FnOnce(Spawner)) -> ! {
    let executor = Executor::new(core::ptr::null_mut());
    // SAFETY: this function never returns, so the executor lives as long as the program.
    let executor: &'static Executor = unsafe { &*&raw const executor };
    spawn(executor.spawner());
    loop {
        // SAFETY: this is the only call, and neither a task nor an interrupt reaches it.
        unsafe { executor.poll() };
        critical_section::with(|_| match WOKEN.load(Ordering::Acquire) {
            true => WOKEN.store(false, Ordering::Release),
            // It returns at a pending interrupt, which runs after this section.
            false => machine::wait_for_interrupt(),
        });
    }
}
