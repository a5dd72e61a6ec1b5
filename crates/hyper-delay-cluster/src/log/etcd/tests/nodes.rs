//! Nodes on a real etcd.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::process::Processes;
use crate::{
    Charter, ShardId,
    admin::Admin,
    lease::LeaseTimes,
    log::{Log as _, LogAnswer, LogRequest, Member, contract::until, etcd::Etcd},
    node::{ClusterNode, NodeConfig, ShardNotice},
    shard::LeadershipChange,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{clock::Clock, sizes::Sizes};

const PATIENCE: Duration = testkit::PATIENCE;

/// A slow machine can lose one. It costs the test time and nothing else.
const LEASE: Duration = Duration::from_secs(4);

/// A slow machine keeps one, too: for a test that fails without it.
const LONG_LEASE: Duration = Duration::from_secs(60);

const SHARDS: u16 = 4;

struct RunningEtcdNode {
    node: ClusterNode,
    notices: Receiver<(ShardId, ShardNotice)>,
    leads: usize,
    _disk: TempDir,
}

impl RunningEtcdNode {
    async fn start(
        etcd: &Processes,
        name: &str,
        charter: Charter,
        clock: Clock,
        lease: Duration,
    ) -> Self {
        let log = Arc::new(etcd.log());
        let member = Member {
            node: name.into(),
            address: format!("{name}:1").into(),
        };
        log.call(LogRequest::Join(member.clone())).await.unwrap();
        let disk = tempfile::tempdir().unwrap();
        let config = NodeConfig {
            charter,
            members: [member.clone()].into(),
            member,
            lease: LeaseTimes::of(lease),
            missing_links: Arc::default(),
            config: Arc::new(Config {
                data_dir: disk.path().join("db"),
                disk_reserve_mib: 0,
                ..Config::default()
            }),
            metrics: Arc::default(),
            group_bytes: 64 << 10,
            retention: 256 << 20,
            sync_interval: Duration::from_millis(200),
            sizes: Sizes::SMALL,
        };
        let (tell, notices) = channel();
        let node = ClusterNode::start(log, config, clock, Arc::default(), tell).await;
        Self {
            node: node.unwrap(),
            notices,
            leads: 0,
            _disk: disk,
        }
    }

    fn hear(&mut self) {
        for (shard, notice) in self.notices.try_iter() {
            match notice {
                ShardNotice::LeadershipChanged(LeadershipChange::Begins(_)) => self.leads += 1,
                ShardNotice::LeadershipChanged(LeadershipChange::Ends(_)) => self.leads -= 1,
                ShardNotice::Replaced(_) => {}
                ShardNotice::Stopped => panic!("{shard:?} has stopped"),
                _ => {}
            }
        }
    }
}

/// Waits until these nodes lead all shards.
async fn all_lead(nodes: &mut [RunningEtcdNode]) {
    let begun = Instant::now();
    loop {
        nodes.iter_mut().for_each(RunningEtcdNode::hear);
        if nodes.iter().map(|node| node.leads).sum::<usize>() == usize::from(SHARDS) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "not all shards are led");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the cluster has problems that begin like these.
async fn problems(admin: &Admin<Etcd>, expected: &[&str]) {
    let begun = Instant::now();
    loop {
        let problems = admin.status().await.unwrap().problems();
        let begin_alike = problems
            .iter()
            .zip(expected)
            .all(|(it, begin)| it.starts_with(begin));
        if problems.len() == expected.len() && begin_alike {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{problems:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Makes a cluster.
async fn found(etcd: &Processes) -> Charter {
    let charter = Charter {
        cluster: 7 << 100,
        shards: SHARDS,
    };
    let founded = etcd
        .log()
        .call(LogRequest::CreateCluster(charter))
        .await
        .unwrap();
    assert_eq!(founded, LogAnswer::ClusterCreated(charter));
    charter
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_that_is_alive_is_not_removed() {
    let Some(etcd) = Processes::one() else { return };
    let (charter, clock) = (found(&etcd).await, Clock::new());
    let _nodes = [
        RunningEtcdNode::start(&etcd, "a", charter, clock, LONG_LEASE).await,
        RunningEtcdNode::start(&etcd, "b", charter, clock, LONG_LEASE).await,
    ];
    let log = etcd.log();
    // Before its first heartbeat, b does not count as alive.
    until(async || {
        let Ok(LogAnswer::Members(members)) = log.call(LogRequest::Members).await else {
            return false;
        };
        let mut members = members.iter();
        members.any(|it| &*it.member.node == "b" && it.heartbeat.is_some())
    })
    .await;
    // This takes a quarter of a lease.
    let error = Admin::new(log).remove("b", false).await.unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("node b is alive"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_lead_and_take_over() {
    let Some(etcd) = Processes::one() else { return };
    let (charter, clock) = (found(&etcd).await, Clock::new());
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        nodes.push(RunningEtcdNode::start(&etcd, name, charter, clock, LEASE).await);
        all_lead(&mut nodes).await;
    }
    let admin = Admin::new(etcd.log());
    problems(&admin, &[]).await;

    nodes.remove(0).node.stop().await.unwrap();
    all_lead(&mut nodes).await;
    // It is silent instead of stopped if a slow machine did not hand over within a lease.
    problems(&admin, &["node a "]).await;
    assert_eq!(admin.remove("a", false).await.unwrap(), 2);
    // A node that ends as in a crash is silent, and its leaderships are taken over.
    drop(nodes.remove(0));
    all_lead(&mut nodes).await;
    assert_eq!(nodes[0].leads, usize::from(SHARDS));
}
