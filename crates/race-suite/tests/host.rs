//! The suite on the host: on the virtual clock, and on the thread's timer.

use std::time::Duration;

use race_core::test::{VirtualClock, VirtualSleep, VirtualTimer};
use race_suite::{ClockKind, Target, WakerKind};
use race_thread::ThreadTimer;

struct Virtual(VirtualClock);

impl Target for Virtual {
    type Timer = VirtualTimer;
    type Sleep = VirtualSleep;
    const CLOCK: ClockKind = ClockKind::Exact;
    const WAKERS: WakerKind = WakerKind::Any;

    fn timer(&self) -> VirtualTimer {
        self.0.timer()
    }

    fn sleep(&self, duration: Duration) -> VirtualSleep {
        self.0.sleep(duration)
    }
}

struct Thread;

impl Target for Thread {
    type Timer = ThreadTimer;
    type Sleep = race_thread::Delay;
    const CLOCK: ClockKind = ClockKind::Real;
    const WAKERS: WakerKind = WakerKind::Any;

    fn timer(&self) -> ThreadTimer {
        ThreadTimer::default()
    }

    fn sleep(&self, duration: Duration) -> race_thread::Delay {
        race_thread::sleep(duration)
    }
}

#[test]
fn suite_passes_on_the_virtual_clock() {
    let target = Virtual(VirtualClock::new());
    let mut names = Vec::new();
    let report = &mut |name| names.push(name);
    let passed = target.0.run(race_suite::run(&target, report)).unwrap();
    assert_eq!(passed, names.len());
    names.sort_unstable();
    names.dedup();
    assert_eq!(passed, names.len(), "names are unique");
    println!("virtual clock: {passed} passed");
}

#[test]
fn suite_passes_on_the_timer_of_a_thread() {
    let passed = pollster::block_on(race_suite::run(&Thread, &mut |_| ()));
    println!("thread: {passed} passed");
    assert!(passed > 0);
}
