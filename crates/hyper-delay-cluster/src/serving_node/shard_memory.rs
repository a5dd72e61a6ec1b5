//! Counts of what the shards on this node have in memory.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::timeout};

use crate::node::ShardHandle;
use hyper_delay_engine::metrics::MemoryGauges;

/// A thread of a shard that does not answer for this time is stuck.
const PATIENCE: Duration = Duration::from_secs(4);

/// Asks the threads of all shards, and sends their answers in the order of the shards. If one does
/// not answer, nothing is sent.
pub(super) async fn report(
    shards: Arc<[ShardHandle]>,
    connections: usize,
    answer: oneshot::Sender<Vec<MemoryGauges>>,
) {
    let asked: Vec<_> = shards.iter().map(ShardHandle::in_memory).collect();
    let mut all = Vec::new();
    for memory in asked {
        let Ok(Ok(memory)) = timeout(PATIENCE, memory).await else {
            return;
        };
        // A leader knows connections of all nodes.
        let connections = match all.is_empty() {
            true => connections as u64,
            false => 0,
        };
        all.push(MemoryGauges {
            connections,
            ..memory
        });
    }
    let _ = answer.send(all);
}
