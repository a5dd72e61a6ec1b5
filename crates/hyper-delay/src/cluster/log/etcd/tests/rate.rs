//! How many entries are appended in a second.
//!
//! ```sh
//! cargo test --release -p hyper-delay --features cluster --lib appends_per_second -- \
//!     --ignored --nocapture
//! ```

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::process::Processes;
use crate::cluster::{
    Charter, ShardId,
    log::{
        Answer, Appended, Fence, Led, Log, Request,
        etcd::Etcd,
        facts::{CHARTER, Node, member},
    },
};

const ENTRY: usize = 64 << 10;
const TIME: Duration = Duration::from_secs(10);

/// Appends to one shard, one entry after the other. Returns how long each took.
async fn append(log: &Etcd, fence: Fence, entry: Arc<[u8]>) -> Vec<Duration> {
    let begin = Instant::now();
    let mut took = Vec::new();
    for seq in 1.. {
        let sent = Instant::now();
        if begin.elapsed() >= TIME {
            break;
        }
        let entry = entry.clone();
        let request = Request::Append { fence, seq, entry };
        let answer = log.call(request).await.unwrap();
        assert_eq!(answer, Answer::Appended(Appended::Done));
        took.push(sent.elapsed());
        // The journal of a cluster in good health is short.
        if seq % 100 == 0 {
            let shard = fence.shard;
            log.call(Request::Trim { shard, below: seq }).await.unwrap();
        }
    }
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn appends_per_second() {
    for shards in [1, 8] {
        let etcd = Processes::three();
        let log = Arc::new(etcd.log_at(etcd.leader().await));
        let charter = Charter { shards, ..CHARTER };
        log.call(Request::Found(charter)).await.unwrap();
        let a = Node::announced(&*log, "a").await;
        let mut writers = Vec::new();
        for shard in (0..shards).map(ShardId) {
            let request = Request::Lead {
                shard,
                lease: a.lease,
                member: member("a"),
                over: None,
            };
            let Answer::Leads(Some(Led { leader, .. })) = log.call(request).await.unwrap() else {
                panic!("nobody leads yet");
            };
            let fence = Fence {
                shard,
                epoch: leader.epoch,
                lease: leader.lease,
            };
            // Entries are compressed, so they cannot be compressed further.
            let entry: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..))
                .take(ENTRY)
                .collect();
            let log = log.clone();
            writers.push(tokio::spawn(async move {
                append(&log, fence, entry.into()).await
            }));
        }
        let mut took = Vec::new();
        for writer in writers {
            took.extend(writer.await.unwrap());
        }
        took.sort_unstable();
        println!(
            "{shards} shards: {} appends/s of {} kB, p50 {:?}, p99 {:?}, longest {:?}",
            took.len() / usize::try_from(TIME.as_secs()).unwrap(),
            ENTRY >> 10,
            took[took.len() / 2],
            took[took.len() * 99 / 100],
            took[took.len() - 1],
        );
    }
}
