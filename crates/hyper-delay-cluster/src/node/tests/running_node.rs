//! A running node, and its notices.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
};

use super::{
    fixture::{PRODUCER, id},
    link::Link,
    requests::scheduled,
};
use crate::{
    ShardId,
    log::{Fence, Leader, fake_async::FakeConnection},
    node::{ClusterNode, ShardNotice, ShardObserver},
    replica::AppliedEntry,
    shard::{LeadershipChange, ShardEvent},
    snapshot::SnapshotUnavailable,
};
use hyper_delay_engine::scheduler::SchedulerInput;
use hyper_delay_fjall::Embedded;
use hyper_delay_store::{ReadStore as _, Space, record};

/// Passes the notices on, or panics.
#[derive(Debug, Clone)]
pub(super) struct ShardRecorder(pub(super) Sender<(ShardId, ShardNotice)>);

impl ShardObserver for ShardRecorder {
    fn notify(&mut self, shard: ShardId, notice: ShardNotice) {
        let is_heard = self.0.send((shard, notice)).is_ok();
        assert!(is_heard, "nobody listens: this ends the thread");
    }
}

/// Returns the last entry that a store contains for sure.
fn synced(store: &Embedded) -> u64 {
    let note = store.get(Space::Meta, record::key::SYNCED).unwrap();
    note.map_or(0, |note| {
        let synced: AppliedEntry = record::decode(&note).unwrap();
        synced.seq
    })
}

/// A node, and its notices.
pub(super) struct RunningNode {
    pub(super) node: ClusterNode,
    pub(super) connection: Arc<FakeConnection>,
    pub(super) notices: Option<Receiver<(ShardId, ShardNotice)>>,
    pub(super) fences: BTreeMap<ShardId, Fence>,
    pub(super) leaders: BTreeMap<ShardId, Option<Leader>>,
    pub(super) stopped: BTreeSet<ShardId>,
    pub(super) applied: BTreeMap<ShardId, u64>,
    /// The shards whose replicas were replaced.
    pub(super) replaced: BTreeSet<ShardId>,
    pub(super) link: Link,
}

impl RunningNode {
    pub(super) fn leads(&self) -> usize {
        self.fences.len()
    }

    pub(super) fn leads_any(&self) -> bool {
        self.leads() > 0
    }

    pub(super) fn leader_of(&self, shard: usize) -> Option<&Leader> {
        self.leaders.get(&id(shard))?.as_ref()
    }

    pub(super) fn has_stopped(&self, shard: usize) -> bool {
        self.stopped.contains(&id(shard))
    }

    /// Returns why a shard has stopped.
    pub(super) fn why(&self, shard: usize) -> Arc<str> {
        match self.node.shards()[shard].snapshot_source().map(drop) {
            Err(SnapshotUnavailable::Stopped { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// Tells the shards whether the wall clock of the node is wrong.
    pub(super) fn clock_is_off(&self, is_off: bool) {
        for shard in self.node.shards().iter() {
            shard.event(ShardEvent::ClockIsOff(is_off));
        }
    }

    /// Tells one shard whether the wall clock of the node is wrong.
    pub(super) fn clock_is_off_for(&self, shard: usize, is_off: bool) {
        self.node.shards()[shard].event(ShardEvent::ClockIsOff(is_off));
    }

    pub(super) fn has_replaced(&self, shard: usize) -> bool {
        self.replaced.contains(&id(shard))
    }

    /// Takes the notices of the node since the last call. Returns the ids of acknowledged tasks.
    pub(super) fn hear(&mut self) -> Vec<Arc<str>> {
        let mut acknowledged = Vec::new();
        for (shard, notice) in self.notices.iter().flat_map(Receiver::try_iter) {
            match notice {
                ShardNotice::LeadershipChanged(LeadershipChange::Begins(fence)) => {
                    assert_eq!(self.fences.insert(shard, fence), None, "it leads already");
                    let handle = &self.node.shards()[usize::from(shard.0)];
                    handle.input(SchedulerInput::Opened(PRODUCER));
                }
                ShardNotice::LeadershipChanged(LeadershipChange::Ends(fence)) => {
                    assert_eq!(self.fences.remove(&shard), Some(fence));
                }
                ShardNotice::Leader(leader) => drop(self.leaders.insert(shard, leader)),
                ShardNotice::Stopped => drop(self.stopped.insert(shard)),
                ShardNotice::Applied(seq) => {
                    let before = self.applied.insert(shard, seq);
                    let goes_on = before.is_none_or(|before| before < seq);
                    let may_go_back = self.stopped.contains(&shard);
                    assert!(goes_on || may_go_back, "it goes back");
                }
                ShardNotice::Replaced(store) => {
                    let reported = self.applied.get(&shard).copied();
                    let synced = synced(&store);
                    assert!(
                        reported <= Some(synced),
                        "{reported:?} was reported, and it has {synced}"
                    );
                    self.stopped.remove(&shard);
                    self.replaced.insert(shard);
                }
                ShardNotice::Peers(messages) => panic!("there are no links: {messages:?}"),
                ShardNotice::Messages(fence, _) => {
                    assert_eq!(self.fences.get(&shard), Some(&fence), "of no leader");
                    acknowledged.extend(scheduled(notice));
                }
            }
        }
        acknowledged
    }
}
