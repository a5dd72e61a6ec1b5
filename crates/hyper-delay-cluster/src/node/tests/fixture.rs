//! Three nodes in one process.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    link::Bound,
    requests::{route, schedule, scheduled},
    running_node::{RunningNode, ShardRecorder},
};
use crate::{
    Charter, ShardId,
    lease::LeaseTimes,
    log::{AppendOutcome, LogAnswer, LogRequest as ToLog, Member, fake_async::SharedLog},
    node::{ClusterNode, NodeConfig, NodeError, ShardNotice},
};
use hyper_delay_config::Config;
use hyper_delay_engine::{clock::Clock, scheduler::ConsumerId, sizes::Sizes};
use hyper_delay_store::{ReadStore as _, Space, record};

pub(super) const SHARDS: usize = 3;

/// A test fails when something takes longer than this. Nothing else depends on time.
pub(super) const PATIENCE: Duration = testkit::PATIENCE;

/// A slow machine can lose a lease. It costs a test time and nothing else.
const LEASE: Duration = Duration::from_secs(2);

/// When a request is repeated whose answer may be lost.
const REPEAT: Duration = Duration::from_secs(1);

pub(super) const PRODUCER: ConsumerId = 9;

/// Three nodes with their disks, and a log.
pub(super) struct Cluster {
    pub(super) log: Arc<SharedLog>,
    pub(super) clock: Clock,
    charter: Charter,
    disks: [TempDir; 3],
    nodes: [Option<RunningNode>; 3],
    acknowledged: BTreeSet<Arc<str>>,
    /// The members that a node knows at its start.
    pub(super) members: &'static [&'static str],
    /// Beyond this many bytes of a journal, nodes are left behind.
    pub(super) retention: u64,
    pub(super) lease: Duration,
    /// How often the nodes sync their stores.
    pub(super) sync_interval: Duration,
    /// What crashed nodes tell.
    pending_notices: Vec<Receiver<(ShardId, ShardNotice)>>,
}

impl Cluster {
    pub(super) fn new() -> Self {
        let clock = Clock::new();
        let charter = Charter {
            cluster: 1 << 100,
            shards: u16::try_from(SHARDS).unwrap(),
        };
        Self {
            log: {
                let log = SharedLog::new(charter);
                for node in 0..3 {
                    log.carry_out(&ToLog::Join(member(node)));
                }
                log
            },
            clock,
            charter,
            disks: [(); 3].map(|()| tempfile::tempdir().unwrap()),
            nodes: [const { None }; 3],
            acknowledged: BTreeSet::new(),
            members: &["a", "b", "c"],
            retention: 256 << 20,
            lease: LEASE,
            sync_interval: Duration::from_millis(200),
            pending_notices: Vec::new(),
        }
    }

    fn config(&self, node: usize, member: Member) -> NodeConfig {
        NodeConfig {
            charter: self.charter,
            member,
            members: self.members.iter().copied().map(named).collect(),
            lease: LeaseTimes::of(self.lease),
            missing_links: Arc::default(),
            config: Arc::new(Config {
                data_dir: self.disks[node].path().join("db"),
                disk_reserve_mib: 0,
                ..Config::default()
            }),
            metrics: Arc::default(),
            group_bytes: 64 << 10,
            retention: self.retention,
            sync_interval: self.sync_interval,
            sizes: Sizes::SMALL,
        }
    }

    /// Starts a node. An earlier process with the same disk may still be ending.
    pub(super) async fn start(&mut self, node: usize) {
        let begun = Instant::now();
        loop {
            let connection = self.log.connect(self.lease / 4);
            let (tell, notices) = channel();
            let bound = Bound::new(self.charter, node).await;
            let joins = bound.member.clone();
            let config = self.config(node, joins.clone());
            let progress = Arc::default();
            let started = ClusterNode::start(
                connection.clone(),
                config,
                self.clock,
                progress,
                ShardRecorder(tell),
            )
            .await;
            match started {
                Ok(started) => {
                    let link = bound.serve(&started);
                    if self.members.contains(&&*joins.node) {
                        self.log.carry_out(&ToLog::Join(joins));
                    }
                    self.nodes[node] = Some(RunningNode {
                        node: started,
                        connection,
                        notices: Some(notices),
                        fences: BTreeMap::new(),
                        leaders: BTreeMap::new(),
                        stopped: BTreeSet::new(),
                        applied: BTreeMap::new(),
                        replaced: BTreeSet::new(),
                        link,
                    });
                    return;
                }
                Err(NodeError::Store(error))
                    if error.to_string().contains("another process uses it") =>
                {
                    assert!(begun.elapsed() < PATIENCE, "{error}");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(super) async fn start_all(&mut self) {
        for node in 0..3 {
            self.start(node).await;
        }
    }

    pub(super) fn take(&mut self, node: usize) -> ClusterNode {
        self.take_out(node).node
    }

    /// Returns a node, and does not look at it any more.
    pub(super) fn take_out(&mut self, node: usize) -> RunningNode {
        self.nodes[node].take().expect("it runs")
    }

    pub(super) async fn stop(&mut self, node: usize) {
        let mut running = self.nodes[node].take().expect("it runs");
        self.acknowledged.extend(running.hear());
        let RunningNode { node, notices, .. } = running;
        let stopping = tokio::time::timeout(PATIENCE, node.stop());
        stopping.await.expect("it stops").unwrap();
        let notices = notices.iter().flat_map(Receiver::try_iter);
        self.acknowledged
            .extend(notices.flat_map(|(_, notice)| scheduled(notice)));
    }

    pub(super) async fn stop_all(&mut self) {
        for node in 0..3 {
            self.stop(node).await;
        }
    }

    pub(super) fn crash(&mut self, node: usize) {
        let mut running = self.nodes[node].take().expect("it runs");
        self.acknowledged.extend(running.hear());
        let RunningNode { node, notices, .. } = running;
        drop(node);
        // Its threads may tell something until they end.
        self.pending_notices.extend(notices);
    }

    pub(super) fn wipe(&mut self, node: usize) {
        assert!(self.nodes[node].is_none(), "it runs");
        self.disks[node] = tempfile::tempdir().unwrap();
    }

    /// Returns the data directory of a node.
    pub(super) fn disk(&self, node: usize) -> std::path::PathBuf {
        self.disks[node].path().join("db")
    }

    /// Lets other nodes no longer reach a node.
    pub(super) fn unlink(&self, node: usize) {
        self.node(node).link.listener.abort();
    }

    pub(super) fn cut(&self, node: usize, is_cut: bool) {
        self.node(node).connection.cut(is_cut);
    }

    pub(super) fn lose(&self, percent: usize) {
        for node in self.running() {
            node.connection.lose(percent);
        }
    }

    /// Lets the threads of a node panic at the next notice.
    pub(super) fn panics(&mut self, node: usize) {
        self.nodes[node].as_mut().expect("it runs").notices = None;
    }

    /// Appends to a journal what no server can read, and makes its leader look.
    pub(super) async fn damage_journal(&mut self, shard: usize) {
        let leader = loop {
            let leader = self.leader_of(shard).await;
            let append = ToLog::Append {
                fence: self.node(leader).fences[&id(shard)],
                seq: self.log.inner().last(id(shard)) + 1,
                entry: b"\x01not an entry".as_slice().into(),
            };
            // Another node may lead by now.
            if self.log.carry_out(&append) == LogAnswer::Appended(AppendOutcome::Done) {
                break leader;
            }
        };
        let handle = &self.node(leader).node.shards()[shard];
        schedule(shard, ["task-0".into()]).for_each(|input| handle.input(input));
    }

    pub(super) fn node(&self, node: usize) -> &RunningNode {
        self.nodes[node].as_ref().expect("it runs")
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &RunningNode> {
        self.nodes.iter().flatten()
    }

    /// Takes the notices of the nodes.
    pub(super) fn hear(&mut self) {
        for node in self.nodes.iter_mut().flatten() {
            self.acknowledged.extend(node.hear());
        }
    }

    /// Waits until something is so.
    pub(super) async fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        loop {
            self.hear();
            if is_so(self) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Returns the node that leads a shard, once one does.
    pub(super) async fn leader_of(&mut self, shard: usize) -> usize {
        self.until("a node leads", |cluster| cluster.leads(shard).is_some())
            .await;
        self.leads(shard).expect("it was so")
    }

    fn leads(&self, shard: usize) -> Option<usize> {
        let now = self.clock.now();
        let nodes = self.nodes.iter();
        let mut nodes = nodes
            .enumerate()
            .filter_map(|(place, node)| Some((place, node.as_ref()?)));
        let leads = nodes.find(|(_, node)| {
            let fence = node.fences.get(&id(shard));
            let term = node.node.current_term.load().filter(|term| term.holds(now));
            fence.is_some_and(|fence| term.is_some_and(|term| term.lease == fence.lease))
        });
        leads.map(|(place, _)| place)
    }

    pub(super) async fn all_lead(&mut self) {
        for shard in 0..SHARDS {
            self.leader_of(shard).await;
        }
    }

    /// Schedules a task at the leader of its shard until it is acknowledged.
    pub(super) async fn schedule(&mut self, number: usize) {
        let task: Arc<str> = format!("task-{number}").into();
        let shard = number % SHARDS;
        let begun = Instant::now();
        while !self.acknowledged.contains(&task) {
            assert!(begun.elapsed() < PATIENCE, "{task} is not acknowledged");
            let leader = self.leader_of(shard).await;
            let handle = &self.node(leader).node.shards()[shard];
            assert_eq!(handle.id(), id(shard));
            schedule(shard, [task.clone()]).for_each(|input| handle.input(input));
            let repeat = Instant::now() + REPEAT;
            while !self.acknowledged.contains(&task) && Instant::now() < repeat {
                tokio::time::sleep(Duration::from_millis(1)).await;
                self.hear();
            }
        }
    }

    /// Asks the leaders to schedule tasks, and waits for no answer. Returns the tasks.
    pub(super) fn ask_for(&mut self, numbers: std::ops::Range<usize>) -> Vec<Arc<str>> {
        let tasks = numbers.map(|number| {
            let task: Arc<str> = format!("task-{number}").into();
            let shard = number % SHARDS;
            let leader = self.leads(shard).expect("it is led");
            let handle = &self.node(leader).node.shards()[shard];
            schedule(shard, [task.clone()]).for_each(|input| handle.input(input));
            task
        });
        tasks.collect()
    }

    pub(super) fn has_acknowledged(&self, tasks: &[Arc<str>]) -> bool {
        tasks.iter().all(|task| self.acknowledged.contains(task))
    }

    /// Waits until all nodes have all acknowledged tasks, and the same contents.
    pub(super) async fn all_have_everything(&mut self) {
        self.until("all nodes have everything", |cluster| {
            (0..SHARDS).all(|shard| {
                let contents: Vec<_> = cluster.running().map(|it| contents(it, shard)).collect();
                contents.iter().all(|other| *other == contents[0])
            })
        })
        .await;
        for task in &self.acknowledged {
            let number: usize = task.strip_prefix("task-").unwrap().parse().unwrap();
            let shard = number % SHARDS;
            let name = record::key::name(&route(shard), task);
            for node in self.running() {
                let store = node.node.shards()[shard].store();
                assert!(store.get(Space::Names, &name).unwrap().is_some(), "{task}");
            }
        }
    }
}

/// Returns all rows of a shard, without what each node notes for itself.
fn contents(node: &RunningNode, shard: usize) -> Vec<(usize, Vec<u8>, Vec<u8>)> {
    let store = node.node.shards()[shard].store();
    let rows = store.snapshot().unwrap().rows.map(|row| row.unwrap());
    let rows = rows.filter(|(_, key, _)| **key != *record::key::SYNCED);
    rows.map(|(space, key, value)| (space as usize, key.to_vec(), value.to_vec()))
        .collect()
}

/// Returns a node as the others see it.
pub(super) fn member(node: usize) -> Member {
    named(["a", "b", "c"][node])
}

fn named(name: &str) -> Member {
    Member {
        node: name.into(),
        address: format!("{name}:1").into(),
    }
}

pub(super) fn id(shard: usize) -> ShardId {
    ShardId(shard.try_into().unwrap())
}
