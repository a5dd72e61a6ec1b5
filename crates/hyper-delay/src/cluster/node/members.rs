//! The task that tells the shards which nodes the cluster has.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time};

use super::ShardHandle;
use crate::cluster::{
    log::{Answer, Log, NodeName, Request},
    shard::Event,
};

/// Asks the log for the members when they have changed, and from time to time, as the news of it
/// can be lost. Tells the shards when they are others than `known`, until the future is dropped.
pub(super) async fn follow(
    log: Arc<impl Log>,
    shards: Arc<[ShardHandle]>,
    changed: Arc<Notify>,
    mut known: Arc<[NodeName]>,
    lease: Duration,
) {
    loop {
        // Early or late makes no difference.
        let _ = time::timeout(16 * lease, changed.notified()).await;
        match log.call(Request::Members).await {
            Ok(Answer::Members(members)) => {
                let members = members.into_iter().map(|it| it.member.node);
                let members: Arc<[NodeName]> = members.collect();
                if members == known {
                    continue;
                }
                known = members;
                tracing::info!(members = %known.join(","), "the cluster has these nodes");
                for shard in shards.iter() {
                    shard.event(Event::Members(known.clone()));
                }
            }
            Ok(_) | Err(_) => {
                time::sleep(lease / 8).await;
                changed.notify_one();
            }
        }
    }
}
