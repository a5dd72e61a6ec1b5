//! Requests that fail together do not retry together.

use std::collections::BTreeSet;

use futures::future::join_all;
use race_core::Backoff;
use tower::{Layer as _, Service as _};

use crate::server::{Server, ms};

const REQUESTS: usize = 100;

/// Returns when the requests of one layer retry, after they have all failed at one moment.
fn retries(pauses: Backoff) -> Vec<u64> {
    let answers = [[(10, Err("busy")); REQUESTS], [(1, Ok("done")); REQUESTS]];
    let server = Server::new(answers.concat());
    let mut service = server.layer(pauses).layer(server.clone());
    let requests: Vec<_> = (0..REQUESTS)
        .map(|_| service.call(String::from("a")))
        .collect();
    let answers = server.clock.run(join_all(requests)).unwrap();
    assert!(answers.into_iter().all(|answer| answer.is_ok()));
    server.calls().split_off(REQUESTS)
}

#[test]
fn requests_of_one_layer_do_not_retry_at_one_moment() {
    let pauses = retries(Backoff::new(ms(1_000_000)).jitter());
    let moments = pauses.into_iter().collect::<BTreeSet<_>>().len();
    // 100 numbers out of half a million.
    assert!(moments >= REQUESTS - 2, "{moments}");
}

#[test]
fn requests_of_one_layer_share_the_jitter_of_a_seed() {
    let pauses = retries(Backoff::new(ms(1_000_000)).jitter_seeded(7));
    assert!(pauses.iter().all(|at| *at == pauses[0]), "{pauses:?}");
}
