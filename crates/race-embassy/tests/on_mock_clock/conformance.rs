//! `EmbassyTimer` fulfils the contract of `Timer`, on the mock driver.

use embassy_time::Timer;
use race_core::test::conformance;
use race_embassy::EmbassyTimer;

use crate::executor::run;

#[test]
fn embassy_timer_conforms() {
    run(conformance::timer(EmbassyTimer::new));
}

#[test]
fn clones_are_independent() {
    run(conformance::clones(EmbassyTimer::new));
}

#[test]
fn busy_attempt_does_not_starve_the_timer() {
    let sleep_often = || async {
        loop {
            Timer::after_ticks(1).await;
        }
    };
    run(conformance::fairness(EmbassyTimer::new, sleep_often));
}
