//! Events and effects of a shard.

use std::{sync::Arc, time::Duration};

use super::{PeerId, snapshot_fetch::SnapshotFetch};
use crate::{
    Charter, ShardId,
    call_id::CallId,
    forward::wire::{ToLeader, ToServing},
    log::{Fence, Leader, LogAnswer, LogRequest, LogUnanswered, Member, NodeName},
    replica::ReplicaSync,
};
#[cfg(test)]
use hyper_delay_engine::scheduler::{ConsumerId, SchedulerInput, SchedulerMessage};
use hyper_delay_engine::{metrics::Metrics, scheduler::SchedulerSettings};
use hyper_delay_store::StoreError;

/// The configuration of a shard, fixed while a node runs.
#[derive(Debug, Clone)]
pub(crate) struct ShardSetup {
    pub(crate) charter: Charter,
    pub(crate) shard: ShardId,
    /// This node.
    pub(crate) member: Member,
    pub(crate) settings: SchedulerSettings,
    /// The metrics of the node.
    pub(crate) metrics: Arc<Metrics>,
    /// The deduplication window of finished tasks, in milliseconds.
    pub(crate) dedupe_millis: u64,
    /// The lease of a node lasts this long.
    pub(crate) lease: Duration,
    /// A group of changes ends when its rows have this many bytes.
    pub(crate) group_bytes: usize,
    /// Beyond this many bytes of the journal, a minority of the nodes that is behind is left
    /// behind.
    pub(crate) retention: u64,
    /// The interval between syncs of applied entries.
    pub(crate) sync_interval: Duration,
}

impl ShardSetup {
    /// The pause before a request is repeated.
    pub(super) fn pause(&self) -> Duration {
        self.lease / 64
    }

    /// The interval at which the end of the journal is read, in case that events of it are late.
    pub(super) fn poll(&self) -> Duration {
        self.lease / 4
    }
}

/// An event for a shard.
#[derive(Debug)]
pub(crate) enum ShardEvent {
    /// The log has answered, or not.
    Answered(CallId, Result<LogAnswer, LogUnanswered>),
    /// These entries are in the journal.
    Entries(Vec<(u64, Arc<[u8]>)>),
    /// The leader of the shard since a revision of the log. It may be outdated.
    Leader(Option<Leader>, u64),
    /// Everything applied up to this entry is on the disk of this node.
    Persisted(Result<u64, StoreError>),
    /// The store of this node is damaged, as a client has found.
    Damaged(StoreError),
    /// A message of a serving node to the leader.
    PeerMessage(PeerId, ToLeader),
    /// The link from a serving node is broken.
    PeerDisconnected(PeerId),
    /// An input of the scheduler. Only the leader takes it, until it hands over.
    #[cfg(test)]
    Input(SchedulerInput),
    /// The configuration was reloaded.
    Settings(Box<SchedulerSettings>),
    /// The nodes that keep the shard, as they became known.
    Members(Arc<[NodeName]>),
    /// Whether the wall clock of this node is known to be wrong. With a wrong one it does not lead.
    ClockIsOff(bool),
    /// This node is about to end. It finishes the entry in flight, and leads the shard no longer.
    HandOver,
    /// The snapshot of this attempt is not had, for this reason.
    FetchFailed(u64, String),
}

/// The effects to carry out.
#[derive(Debug)]
pub(crate) struct ShardEffects<S> {
    /// Requests to the log.
    pub calls: Vec<(CallId, LogRequest)>,
    /// Messages to serving nodes, in this order for each.
    pub to_peers: Vec<(PeerId, ToServing)>,
    /// Messages to consumers of no serving node, in this order for each.
    #[cfg(test)]
    pub messages: Vec<(ConsumerId, SchedulerMessage)>,
    /// The leadership of this node has changed.
    pub changes: Vec<LeadershipChange>,
    /// Whether [`Shard::leader`](super::Shard::leader) has changed.
    pub leader_changed: bool,
    /// To be run on a thread that may block.
    pub persist: Option<ReplicaSync<S>>,
    /// A snapshot to be fetched. What was spooled for an earlier one is not needed any more. The
    /// store that it becomes is given to [`Shard::replace`](super::Shard::replace).
    pub fetch: Option<SnapshotFetch>,
    /// Entries to be kept on the disk, in this order, until a snapshot is there.
    pub spool: Vec<(u64, Arc<[u8]>)>,
    /// Why the last attempt to get a snapshot has failed. What was spooled is not needed any more.
    pub fetch_failure: Option<String>,
}

/// A change of what this node leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeadershipChange {
    /// It leads the shard from now on.
    Begins(Fence),
    /// It does not any more. Requests in flight are not answered: whether they were
    /// carried out is not known.
    Ends(Fence),
}

impl<S> ShardEffects<S> {
    /// The attempt to get a snapshot has failed. What it has asked for is not needed any more.
    pub(super) fn fetch_failed(&mut self, why: &str) {
        self.fetch = None;
        self.spool.clear();
        self.fetch_failure = Some(why.to_owned());
    }

    /// Returns whether no message is left to be sent.
    pub(super) fn has_no_messages(&self) -> bool {
        #[cfg(test)]
        if !self.messages.is_empty() {
            return false;
        }
        self.to_peers.is_empty()
    }
}

impl<S> Default for ShardEffects<S> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            to_peers: Vec::new(),
            #[cfg(test)]
            messages: Vec::new(),
            changes: Vec::new(),
            leader_changed: false,
            persist: None,
            fetch: None,
            spool: Vec::new(),
            fetch_failure: None,
        }
    }
}
