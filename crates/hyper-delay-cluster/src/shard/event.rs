//! What a shard is told, and what it wants to be done.

use std::{sync::Arc, time::Duration};

use super::{PeerId, fetch::Fetch};
use crate::{
    Charter, ShardId,
    calls::CallId,
    forward::wire::{ToLeader, ToServing},
    log::{Answer, Fence, Leader, Member, NodeName, Request, Unanswered},
    replica::{NotApplied, Persisting},
};
#[cfg(test)]
use hyper_delay_engine::scheduler::{ConsumerId, Input, Message};
use hyper_delay_engine::{metrics::Metrics, scheduler::Settings};
use hyper_delay_store::StoreError;

/// What does not change while a node runs.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) charter: Charter,
    pub(crate) shard: ShardId,
    /// This node.
    pub(crate) member: Member,
    pub(crate) settings: Settings,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// How long the names of finished tasks are kept, in milliseconds.
    pub(crate) dedupe_millis: u64,
    /// The lease of a node lasts this long.
    pub(crate) lease: Duration,
    /// A group of changes ends when its rows have this many bytes.
    pub(crate) group_bytes: usize,
    /// Beyond this many bytes of the journal, a minority of the nodes that is behind is left
    /// behind.
    pub(crate) retention: u64,
    /// What is applied is synced this often.
    pub(crate) sync_interval: Duration,
}

impl Setup {
    /// The pause before a request is repeated.
    pub(super) fn pause(&self) -> Duration {
        self.lease / 64
    }

    /// How often the end of the journal is read, in case that the news of it are late.
    pub(super) fn poll(&self) -> Duration {
        self.lease / 4
    }
}

/// What has happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// The log has answered, or not.
    Answered(CallId, Result<Answer, Unanswered>),
    /// These entries are in the journal.
    Entries(Vec<(u64, Arc<[u8]>)>),
    /// Who leads the shard since a revision of the log, as it became known: it may be outdated.
    Leader(Option<Leader>, u64),
    /// What is applied up to this entry is on the disk of this node.
    Persisted(Result<u64, StoreError>),
    /// The store of this node is damaged, as a client has found.
    Damaged(StoreError),
    /// A serving node says something to the leader.
    Peer(PeerId, ToLeader),
    /// The link from a serving node is broken.
    PeerIsGone(PeerId),
    /// Something for the scheduler. Only the leader takes it, until it hands over.
    #[cfg(test)]
    Input(Input),
    /// The configuration was reloaded.
    Settings(Box<Settings>),
    /// The nodes that keep the shard, as they became known.
    Members(Arc<[NodeName]>),
    /// Whether the wall clock of this node is known to be wrong. With a wrong one it does not lead.
    ClockIsOff(bool),
    /// This node is about to end. It finishes the entry under way, and leads the shard no longer.
    HandOver,
    /// The snapshot of this attempt is not had, for this reason.
    NotFetched(u64, String),
}

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Effects<S> {
    /// Requests to the log.
    pub calls: Vec<(CallId, Request)>,
    /// Messages to serving nodes, in this order for each.
    pub told: Vec<(PeerId, ToServing)>,
    /// Messages to consumers of no serving node, in this order for each.
    #[cfg(test)]
    pub messages: Vec<(ConsumerId, Message)>,
    /// The leadership of this node has changed.
    pub changes: Vec<Leadership>,
    /// Whether [`Shard::leader`](super::Shard::leader) has changed.
    pub leader_changed: bool,
    /// To be run on a thread that may block.
    pub persist: Option<Persisting<S>>,
    /// A snapshot to be fetched. What was spooled for an earlier one is not needed any more. The
    /// store that it becomes is given to [`Shard::replace`](super::Shard::replace).
    pub fetch: Option<Fetch>,
    /// Entries to be kept on the disk, in this order, until a snapshot is there.
    pub spool: Vec<(u64, Arc<[u8]>)>,
    /// Why the last attempt to get a snapshot has failed. What was spooled is not needed any more.
    pub unfetched: Option<String>,
}

/// A change of what this node leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leadership {
    /// It leads the shard from now on.
    Begins(Fence),
    /// It does not any more. Requests that are under way are not answered: whether they were
    /// carried out is not known.
    Ends(Fence),
}

/// Why a shard does nothing any more on this node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// What is on the disk cannot be used with the journal, or the disk has failed.
    #[error(transparent)]
    NotApplied(#[from] NotApplied),
    /// The store has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal ends before what this node has applied.
    #[error(
        "the journal ends with entry {last}, and this node has applied entry {applied}: it was \
         restored or made anew. If another node leads the shard, stop this one, move its data_dir \
         away, and start it again: it takes the tasks from there. If none does, keep every data_dir, \
         and read \"etcd is lost\" in docs/cluster.md"
    )]
    Beyond {
        /// The last entry of the journal.
        last: u64,
        /// The last one that is applied here.
        applied: u64,
    },
    /// The journal begins after what this node has applied.
    #[error(
        "the journal begins with entry {first}, and this node has applied entry {applied}: it \
         takes a snapshot from another node"
    )]
    Behind {
        /// The first entry of the journal.
        first: u64,
        /// The last one that is applied here.
        applied: u64,
    },
}

impl<S> Effects<S> {
    /// Returns whether no message is left to be sent.
    pub(super) fn is_told(&self) -> bool {
        #[cfg(test)]
        if !self.messages.is_empty() {
            return false;
        }
        self.told.is_empty()
    }
}

impl<S> Default for Effects<S> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            told: Vec::new(),
            #[cfg(test)]
            messages: Vec::new(),
            changes: Vec::new(),
            leader_changed: false,
            persist: None,
            fetch: None,
            spool: Vec::new(),
            unfetched: None,
        }
    }
}
