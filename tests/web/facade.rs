//! The crate `race` with the features `std` and `web`.

use std::time::Duration;

use race::{Race, web};
use wasm_bindgen_test::wasm_bindgen_test;

const DELAY: Duration = Duration::from_millis(20);

async fn answer(millis: u64) -> Result<u64, &'static str> {
    web::sleep(Duration::from_millis(millis)).await;
    Ok(millis)
}

#[wasm_bindgen_test]
async fn race_is_that_of_the_web() {
    let race: web::Race<_> = Race::of(DELAY, [5_000, 10, 5_000].map(answer));
    let won = race.first_ok().await.expect("one answers");
    assert_eq!((won.index, won.output), (1, 10));
    assert!(won.elapsed >= Duration::from_millis(30));
}

#[wasm_bindgen_test]
async fn failure_starts_next_attempt_immediately() {
    let attempt = |index: usize| async move {
        match index {
            2 => Ok(index),
            _ => Err("down"),
        }
    };
    let hour = Duration::from_secs(3_600);
    let won = Race::from_fn(hour, attempt).first_ok().await;
    assert_eq!(won.expect("the third answers").output, 2);
}

#[wasm_bindgen_test]
async fn deadline_ends_the_race() {
    let race = Race::of(DELAY, [5_000, 5_000].map(answer)).deadline(3 * DELAY);
    let error = race.first_ok().await.expect_err("nothing answers in time");
    assert!(error.to_string().contains("deadline"), "{error}");
}

/// Clients that fail together must not retry together.
#[wasm_bindgen_test]
fn jitter_has_a_random_seed() {
    /// That of fastrand on a target without randomness.
    const DEFAULT_SEED: u64 = 0xef6f79ed30ba75a;
    let drawn = fastrand::u64(..);
    let mut unseeded = fastrand::Rng::with_seed(DEFAULT_SEED);
    assert!((0..10_000).all(|_| unseeded.u64(..) != drawn));
}
