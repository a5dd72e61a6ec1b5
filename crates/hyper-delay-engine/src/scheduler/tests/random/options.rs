//! The options of a random history.

use proptest::prelude::*;

use hyper_delay_config::{Config, Quota};
use hyper_delay_protocol::Terms;

#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) window_tasks: usize,
    pub(super) ready: usize,
    max_attempts: Option<u32>,
    dead_retention_seconds: Option<u64>,
    /// Of each route.
    deliveries_per_second: Option<u32>,
    /// Of the first route.
    max_attempts_of_route: Option<u32>,
    ack_timeout_of_route: Option<u64>,
}

impl Options {
    /// The configuration of the server.
    pub(super) fn config(&self) -> Config {
        let quota = Quota {
            deliveries_per_second: self.deliveries_per_second,
            ..Quota::default()
        };
        let of_route = Terms {
            ack_timeout_ms: self.ack_timeout_of_route,
            max_attempts: self.max_attempts_of_route,
            ..Terms::default()
        };
        Config {
            hedge: [("hedged".to_owned(), 60), ("hedged-*".to_owned(), 400)].into(),
            ack_timeout_ms: 1_000,
            retry_delay_ms: 20,
            max_retry_delay_ms: 200,
            max_attempts: self.max_attempts,
            dead_retention_seconds: self.dead_retention_seconds,
            dedupe_seconds: 300,
            credit: 2,
            routes: [("plain".to_owned(), of_route)].into(),
            quotas: ["plain", "hedged*"]
                .map(|key| (key.to_owned(), quota))
                .into(),
            ..Config::default()
        }
    }
}

pub(super) fn options() -> impl Strategy<Value = Options> {
    let window_tasks = prop_oneof![Just(3), Just(1000)];
    let ready = prop_oneof![Just(1), Just(4)];
    let max_attempts = prop::option::of(1..3u32);
    let dead_retention = prop::option::of(1..20u64);
    let rate = prop::option::of(prop_oneof![1..4u32, Just(100)]);
    let of_route = (prop::option::of(1..3u32), prop::option::of(1..3_000u64));
    let of_dead = (max_attempts, dead_retention);
    (window_tasks, ready, of_dead, rate, of_route).prop_map(
        |(window_tasks, ready, of_dead, deliveries_per_second, of_route)| Options {
            window_tasks,
            ready,
            max_attempts: of_dead.0,
            dead_retention_seconds: of_dead.1,
            deliveries_per_second,
            max_attempts_of_route: of_route.0,
            ack_timeout_of_route: of_route.1,
        },
    )
}
