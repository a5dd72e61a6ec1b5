//! `SmolTimer` fulfils the contract of `Timer` on smol's executor.

use race_core::test::conformance;
use race_smol::SmolTimer;

#[test]
fn smol_timer_conforms() {
    smol::block_on(smol::spawn(conformance::timer(SmolTimer::new)));
}

#[test]
fn clones_are_independent() {
    smol::block_on(conformance::clones(SmolTimer::new));
}

#[test]
fn busy_attempt_does_not_starve_the_timer() {
    let spin = || async {
        loop {
            smol::future::yield_now().await;
        }
    };
    smol::block_on(conformance::fairness(SmolTimer::new, spin));
}
