//! Nodes whose replicas cannot continue with the journal.

use std::{fs, path::Path, time::Duration};

use super::fixture::{Cluster, SHARDS, id};
use crate::shard::ShardEvent;
use hyper_delay_store::StoreError;

/// So few bytes that a node that is down is left behind by each entry.
const NOTHING: u64 = 1;

impl Cluster {
    /// Schedules tasks until the journals of all shards begin after what a node has.
    async fn leave_behind(&mut self, from: usize) -> usize {
        let mut number = from;
        loop {
            for _ in 0..SHARDS {
                self.schedule(number).await;
                number += 1;
            }
            let log = self.log.inner();
            let first = |shard| *log.shard(id(shard)).journal.first_key_value().unwrap().0;
            if (0..SHARDS).all(|shard| first(shard) > 1) {
                return number;
            }
        }
    }

    async fn are_replaced(&mut self, node: usize) {
        self.until("all shards resume with a snapshot", |cluster| {
            let node = cluster.node(node);
            (0..SHARDS).all(|shard| node.has_replaced(shard) && !node.has_stopped(shard))
        })
        .await;
    }

    /// Returns the names of the folders and files of the shards.
    fn names(&self, node: usize) -> Vec<String> {
        let names = fs::read_dir(self.disk(node).join("shards")).unwrap();
        let mut names: Vec<_> = names
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wiped_node_beyond_the_retention_takes_snapshots() {
    let mut cluster = Cluster::new();
    cluster.retention = NOTHING;
    cluster.start_all().await;
    cluster.all_lead().await;
    cluster.stop(2).await;
    cluster.wipe(2);
    let next = cluster.leave_behind(0).await;
    cluster.start(2).await;
    cluster.are_replaced(2).await;
    for number in next..next + 12 {
        cluster.schedule(number).await;
    }
    cluster.all_have_everything().await;
    // What was replaced and spooled is removed while the node runs.
    cluster
        .until("only the new stores are left", |cluster| {
            cluster.names(2) == ["0.1", "1.1", "2.1"]
        })
        .await;
    cluster.stop(2).await;
    cluster.start(2).await;
    cluster.all_have_everything().await;
    assert!((0..SHARDS).all(|shard| !cluster.node(2).has_replaced(shard)));
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_away_too_long_takes_snapshots_and_can_lead() {
    let mut cluster = Cluster::new();
    cluster.retention = NOTHING;
    cluster.start_all().await;
    for number in 0..6 {
        cluster.schedule(number).await;
    }
    cluster.all_have_everything().await;
    cluster.crash(0);
    let next = cluster.leave_behind(6).await;
    cluster.start(0).await;
    cluster.all_have_everything().await;
    // Two of three have everything only if this one has.
    cluster.stop(1).await;
    cluster.stop(2).await;
    for number in next..next + SHARDS {
        cluster.schedule(number).await;
    }
    cluster
        .until("it leads", |cluster| cluster.node(0).leads() == SHARDS)
        .await;
    cluster.stop(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_gives_when_the_first_one_cannot() {
    let mut cluster = Cluster::new();
    cluster.retention = NOTHING;
    cluster.start_all().await;
    cluster.all_lead().await;
    cluster.stop(2).await;
    cluster.wipe(2);
    cluster.leave_behind(0).await;
    // Whoever is asked first, one of the two cannot be reached.
    cluster.unlink(0);
    cluster.start(2).await;
    cluster.are_replaced(2).await;
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_waits_while_no_other_one_can_give() {
    let mut cluster = Cluster::new();
    cluster.retention = NOTHING;
    cluster.start_all().await;
    cluster.all_lead().await;
    cluster.stop(2).await;
    cluster.wipe(2);
    cluster.leave_behind(0).await;
    cluster.stop(0).await;
    cluster.crash(1);
    cluster.start(2).await;
    cluster
        .until("it waits", |cluster| {
            (0..SHARDS).all(|shard| cluster.node(2).has_stopped(shard))
        })
        .await;
    assert!(!cluster.node(2).leads_any());
    cluster.start(1).await;
    cluster.are_replaced(2).await;
    cluster.start(0).await;
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_replica_is_replaced_while_the_node_runs() {
    let mut cluster = Cluster::new();
    cluster.retention = NOTHING;
    cluster.start_all().await;
    cluster.leave_behind(0).await;
    cluster.all_have_everything().await;
    let leader = cluster.leader_of(1).await;
    let damaged = (leader + 1) % 3;
    let others = [leader, (leader + 2) % 3];
    cluster.node(damaged).node.shards()[1].store().flush_all();
    let store = cluster.disk(damaged).join("shards/1/store");
    assert!(damage_tables(&store) > 0);
    // It reads its tables when it leads, and no other node can.
    for node in others {
        cluster.node(node).clock_is_off(true);
    }
    cluster
        .until("the shard resumes with a snapshot", |cluster| {
            cluster.node(damaged).has_replaced(1)
        })
        .await;
    for node in others {
        cluster.node(node).clock_is_off(false);
    }
    for number in 1_000..1_006 {
        cluster.schedule(number).await;
    }
    cluster.all_have_everything().await;
    let aside = |cluster: &Cluster| {
        let names = fs::read_dir(cluster.disk(damaged)).unwrap();
        let mut names = names.map(|it| it.unwrap().file_name());
        names.any(|name| name.to_string_lossy().starts_with("damaged-"))
    };
    cluster.until("the damaged one is moved aside", aside).await;
    cluster.stop_all().await;
}

/// Nobody has asked for what is damaged: a rewrite of tables in the background meets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_a_compaction_meets_is_replaced_while_the_node_runs() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    let shard = 1;
    let mut number = shard;
    for _ in 0..3 {
        cluster.schedule(number).await;
        number += SHARDS;
    }
    cluster.all_have_everything().await;
    let damaged = (cluster.leader_of(shard).await + 1) % 3;
    cluster.node(damaged).node.shards()[shard]
        .store()
        .flush_all();
    let store = cluster.disk(damaged).join("shards/1/store");
    assert!(damage_tables(&store.join("keyspaces")) > 0);
    let begun = std::time::Instant::now();
    while !cluster.node(damaged).has_replaced(shard) {
        assert!(begun.elapsed() < testkit::PATIENCE, "it is not replaced");
        cluster.schedule(number).await;
        number += SHARDS;
        // Once it has failed, it takes no more.
        let _ = cluster.node(damaged).node.shards()[shard]
            .store()
            .seal_all();
    }
    cluster.schedule(number).await;
    cluster.all_have_everything().await;
    let node = cluster.node(damaged);
    assert!((0..SHARDS).all(|other| other == shard || !node.has_replaced(other)));
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_told_that_a_snapshot_has_less_before_it_is_used() {
    let mut cluster = Cluster::new();
    // The provider has synced only the first entries.
    cluster.sync_interval = Duration::from_secs(3_600);
    cluster.start_all().await;
    for number in 0..12 {
        cluster.schedule(number).await;
    }
    cluster.all_have_everything().await;
    let follower = (cluster.leader_of(1).await + 1) % 3;
    let damage = StoreError::damage("read", "a checksum does not match");
    cluster.node(follower).node.shards()[1].event(ShardEvent::Damaged(damage));
    cluster
        .until("the shard resumes with a snapshot", |cluster| {
            cluster.node(follower).has_replaced(1)
        })
        .await;
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

/// Overwrites all tables in a folder. Returns how many there are.
fn damage_tables(folder: &Path) -> usize {
    let mut damaged = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damaged += damage_tables(&path);
        } else if folder.ends_with("tables") {
            let length = fs::metadata(&path).unwrap().len();
            fs::write(&path, vec![0xAA; usize::try_from(length).unwrap()]).unwrap();
            damaged += 1;
        }
    }
    damaged
}
