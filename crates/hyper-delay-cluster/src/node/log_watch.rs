//! The task that passes the events of the log to the shards.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use super::ShardHandle;
use crate::{
    log::{Log, LogEvent},
    shard::ShardEvent,
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::watching";

/// Passes events on until the future is dropped. Those of the members go to `members`.
pub(super) async fn watch(
    log: Arc<impl Log>,
    shards: Arc<[ShardHandle]>,
    members: Arc<Notify>,
    pause: Duration,
) {
    loop {
        log.watch(|event| pass_on(&shards, &members, event)).await;
        // A watch reconnects by itself. Meanwhile the shards read the journal.
        tracing::warn!(target: TARGET, "the watch of etcd has ended; it begins again");
        tokio::time::sleep(pause).await;
    }
}

fn pass_on(shards: &[ShardHandle], members: &Notify, event: LogEvent) {
    match event {
        LogEvent::Entries(shard, entries) => {
            if let Some(shard) = shards.get(usize::from(shard.0)) {
                shard.entries(entries);
            }
        }
        LogEvent::Leader(shard, leader, revision) => {
            if let Some(shard) = shards.get(usize::from(shard.0)) {
                shard.event(ShardEvent::Leader(leader, revision));
            }
        }
        LogEvent::Members => members.notify_one(),
    }
}
