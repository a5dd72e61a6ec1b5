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
    /// Of a connection that names none.
    credit: u16,
    max_routes_per_connection: Option<usize>,
    /// Of each route.
    deliveries_per_second: Option<u32>,
    /// Of the connections' own routes.
    own_pending: Option<u64>,
    own_schedules_per_second: Option<u32>,
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
        let of_own = Quota {
            pending: self.own_pending,
            schedules_per_second: self.own_schedules_per_second,
            ..quota
        };
        let of_route = Terms {
            ack_timeout_ms: self.ack_timeout_of_route,
            max_attempts: self.max_attempts_of_route,
            ..Terms::default()
        };
        let default = Config::default();
        Config {
            hedge: [("hedged".to_owned(), 60), ("hedged-*".to_owned(), 400)].into(),
            ack_timeout_ms: 1_000,
            retry_delay_ms: 20,
            max_retry_delay_ms: 200,
            max_attempts: self.max_attempts,
            dead_retention_seconds: self.dead_retention_seconds,
            dedupe_seconds: 300,
            credit: self.credit,
            max_routes_per_connection: self
                .max_routes_per_connection
                .unwrap_or(default.max_routes_per_connection),
            routes: [("plain".to_owned(), of_route)].into(),
            quotas: [("plain", quota), ("hedged*", quota), ("conn-*", of_own)]
                .map(|(key, quota)| (key.to_owned(), quota))
                .into(),
            ..default
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
    let of_own = (prop::option::of(0..3u64), prop::option::of(1..3u32));
    let of_connection = (1..4u16, prop::option::of(1..4usize));
    (
        window_tasks,
        ready,
        of_dead,
        of_connection,
        of_own,
        rate,
        of_route,
    )
        .prop_map(
            |(
                window_tasks,
                ready,
                of_dead,
                of_connection,
                of_own,
                deliveries_per_second,
                of_route,
            )| Options {
                window_tasks,
                ready,
                credit: of_connection.0,
                max_routes_per_connection: of_connection.1,
                max_attempts: of_dead.0,
                dead_retention_seconds: of_dead.1,
                deliveries_per_second,
                own_pending: of_own.0,
                own_schedules_per_second: of_own.1,
                max_attempts_of_route: of_route.0,
                ack_timeout_of_route: of_route.1,
            },
        )
}
