//! Embassy's time driver: a clock of milliseconds and the queue of the waiting tasks.

use core::{cell::RefCell, task::Waker};

use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

use crate::machine;

struct Milliseconds {
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CLOCK: Milliseconds = Milliseconds {
    queue: Mutex::new(RefCell::new(Queue::new())),
});

impl Driver for Milliseconds {
    fn now(&self) -> u64 {
        machine::now()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|section| {
            let queue = &mut *self.queue.borrow_ref_mut(section);
            if queue.schedule_wake(at, waker) {
                arm(queue);
            }
        });
    }
}

/// Wakes the tasks whose time has come. The interrupt of the machine's timer calls it.
pub(crate) fn tick() {
    critical_section::with(|section| arm(&mut CLOCK.queue.borrow_ref_mut(section)));
}

/// Wakes what is due, and arms the timer for the next tick at which something is.
fn arm(queue: &mut Queue) {
    loop {
        let next = queue.next_expiration(machine::now());
        machine::arm(next);
        // The tick may have passed while it was armed.
        if next > machine::now() {
            return;
        }
    }
}
