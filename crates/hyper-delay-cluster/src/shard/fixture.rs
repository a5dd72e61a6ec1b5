//! What the tests of the parts of a shard begin with.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::ShardSetup;
use crate::{Charter, ShardId, log::Member};
use hyper_delay_config::Config;
use hyper_delay_engine::clock::Now;

/// The configuration of the only shard, on node `a`.
pub(super) fn setup() -> ShardSetup {
    let config = Config {
        credit: 0,
        ..Config::default()
    };
    ShardSetup {
        charter: Charter {
            cluster: 7,
            shards: 1,
        },
        shard: ShardId(0),
        member: Member {
            node: "a".into(),
            address: "a:1".into(),
        },
        settings: Arc::new(config).into(),
        metrics: Arc::default(),
        dedupe_millis: 1_000,
        lease: Duration::from_secs(2),
        group_bytes: 2_000,
        retention: 60_000,
        sync_interval: Duration::from_secs(60),
    }
}

/// A moment, in nanoseconds of the monotonic clock.
pub(super) const fn at(nanos: u64) -> Now {
    Now {
        wall_nanos: 1_000_000_000_000,
        monotonic: Tick::new(nanos),
    }
}
