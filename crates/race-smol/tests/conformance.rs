//! `SmolTimer` keeps the contract of `Timer` on smol's own executor.

use race_core::conformance;
use race_smol::SmolTimer;

#[test]
fn smol_timer_conforms() {
    smol::block_on(smol::spawn(conformance::timer(SmolTimer::new)));
}

#[test]
fn a_busy_attempt_starves_nobody() {
    let spin = || async {
        loop {
            smol::future::yield_now().await;
        }
    };
    smol::block_on(conformance::fairness(SmolTimer::new, spin));
}
