//! The task that passes the members of the cluster to the shards and the observer.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time};

use super::{ShardHandle, ShardObserver};
use crate::{
    log::{Log, LogAnswer, LogRequest, Member, NodeName},
    shard::ShardEvent,
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::members";

/// Returns the names of these nodes.
pub(super) fn names(members: &[Member]) -> Arc<[NodeName]> {
    members.iter().map(|it| it.node.clone()).collect()
}

/// Asks the log for the members when they have changed, and from time to time, as the news of it
/// can be lost. Passes `known` to the observer, and changes to both, until the future is dropped.
pub(super) async fn follow(
    log: Arc<impl Log>,
    own: &NodeName,
    (shards, mut observer): (Arc<[ShardHandle]>, impl ShardObserver),
    changed: Arc<Notify>,
    mut known: Arc<[Member]>,
    lease: Duration,
) {
    observer.set_members(&known);
    loop {
        // Early or late makes no difference.
        let _ = time::timeout(16 * lease, changed.notified()).await;
        match log.call(LogRequest::Members).await {
            Ok(LogAnswer::Members(members)) => {
                let members: Arc<[Member]> = members.into_iter().map(|it| it.member).collect();
                if members == known {
                    continue;
                }
                observer.set_members(&members);
                let names = names(&members);
                if names != self::names(&known) {
                    tracing::info!(
                        target: TARGET,
                        members = %names.join(","),
                        "the cluster has these nodes",
                    );
                    if !names.contains(own) {
                        tracing::warn!(
                            target: TARGET,
                            "this node was removed from its cluster: stop it",
                        );
                    }
                    for shard in shards.iter() {
                        shard.event(ShardEvent::Members(names.clone()));
                    }
                }
                known = members;
            }
            Ok(_) | Err(_) => {
                time::sleep(lease / 8).await;
                changed.notify_one();
            }
        }
    }
}
