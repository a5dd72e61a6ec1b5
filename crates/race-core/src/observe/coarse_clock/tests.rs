use core::time::Duration;
use std::{thread, time::Instant};

use super::*;

#[test]
fn coarse_clock_advances_and_is_not_ahead_of_the_exact_clock() {
    let (exact, coarse) = (Instant::now(), CoarseClock);
    let began = coarse.read();
    let mut before = began;
    while before == began {
        thread::sleep(Duration::from_millis(1));
        let now = coarse.read();
        assert!(now >= before);
        before = now;
    }
    // A tick of any system is shorter.
    let tick = Duration::from_millis(100);
    assert!(before.since(began) <= exact.elapsed() + tick);
}
