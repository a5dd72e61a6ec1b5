//! The log of a cluster: a journal for each shard, its leader, and the progress of the nodes.
//!
//! A trusted engine keeps it. What is asked of it is data, so that a simulation can delay, repeat
//! and lose a request, and the contract is the same for every engine: every answer is of one moment
//! between the request and the answer, and takes all requests into account that were answered
//! before ("linearizable").
//!
//! The engine keeps no time: it only reports changes (`heartbeat`).

#[cfg(test)]
mod contract;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
pub(crate) mod fake_async;

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Charter, ShardId};

/// The name of a node in its cluster.
pub(crate) type NodeName = Arc<str>;

/// A lease: a number that a process has chosen, and no other process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub(crate) u64);

/// The last heartbeat of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// Changes with every heartbeat.
    pub revision: u64,
    /// The lease of the process that it is of.
    pub lease: LeaseId,
    /// The time to live of the lease after a heartbeat.
    pub ttl: Duration,
}

/// The right to append to the journal of a shard, until another leader has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The shard.
    pub shard: ShardId,
    /// Which leadership: a later one of the same shard has a higher number.
    pub epoch: u64,
    /// The lease to which it is bound.
    pub lease: LeaseId,
}

/// A node that leads shards, as other nodes see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub node: NodeName,
    /// Where other nodes reach it: host and port.
    pub address: Arc<str>,
}

/// The leader of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    /// Who it is.
    pub member: Member,
    /// Which leadership.
    pub epoch: u64,
    /// The lease to which it is bound.
    pub lease: LeaseId,
}

/// The leader of a shard, with the last heartbeat of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderAndHeartbeat {
    /// Who it is.
    pub leader: Leader,
    /// The heartbeat. `None`: there is none.
    pub heartbeat: Option<Heartbeat>,
}

/// A leadership that is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// The leadership.
    pub epoch: u64,
    /// The heartbeat that must not have changed. `None`: its lease was replaced, so it has ended.
    pub silence: Option<SilentHeartbeat>,
}

/// A heartbeat that has not changed for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SilentHeartbeat {
    /// The node.
    pub node: NodeName,
    /// The revision of its heartbeat. 0: there was none.
    pub revision: u64,
}

/// A link to another node that a node does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingLink {
    /// The other node.
    pub to: NodeName,
    /// Why the last attempt has failed.
    pub why: Arc<str>,
    /// The two speak different versions of links, as they do during some upgrades.
    pub versions_differ: bool,
}

/// A request of a node to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRequest {
    /// Begins a lease, if the heartbeat of the node has this revision: the heartbeat of the lease
    /// takes its place. The reports of the node are bound to the lease from now on.
    Announce {
        /// Who it is.
        member: Member,
        /// Its lease.
        lease: LeaseId,
        /// The time to live of the lease after a heartbeat.
        ttl: Duration,
        /// The revision of the heartbeat that is replaced. 0: there must be none.
        replaces: u64,
    },
    /// Replaces the heartbeat of a node, if it is still of this lease.
    KeepAlive {
        /// Who it is.
        member: Member,
        /// The lease.
        lease: LeaseId,
        /// The time to live of the lease after a heartbeat.
        ttl: Duration,
        /// The links that the node does not have.
        missing_links: Arc<[MissingLink]>,
    },
    /// Removes the heartbeat of a node, if it is still of this lease. The process leads nothing any
    /// more, and the next one need not wait.
    Leave {
        /// The node.
        node: NodeName,
        /// The lease.
        lease: LeaseId,
    },
    /// Leads a shard that has no leader, or takes it over from its leader. The heartbeat of the
    /// node must be of this lease.
    Lead {
        /// The shard.
        shard: ShardId,
        /// The lease to which the leadership is bound.
        lease: LeaseId,
        /// The new leader.
        member: Member,
        /// The leadership that is taken over. `None`: there must be none.
        takeover: Option<Takeover>,
    },
    /// Ends a leadership, if it is still this one.
    Resign(Fence),
    /// Puts an entry at a place of the journal if the leadership is still this one, the place is
    /// empty, and the place before it is not.
    Append {
        /// The leadership.
        fence: Fence,
        /// The place.
        seq: u64,
        /// The encoded entry.
        entry: Arc<[u8]>,
    },
    /// Entries of the journal, as of now, from a place on.
    Tail {
        /// The shard.
        shard: ShardId,
        /// The place. Entries before it are not returned. `u64::MAX`: none is.
        from: u64,
        /// The node that asks.
        node: NodeName,
    },
    /// The first entry of the journal, as of now.
    First {
        /// The shard.
        shard: ShardId,
        /// All entries before this place are known to be removed. 0: nothing is known.
        from: u64,
    },
    /// Removes the entries before a place.
    Trim {
        /// The shard.
        shard: ShardId,
        /// All entries before this place are known to be removed. 0: nothing is known.
        from: u64,
        /// The place of the first entry that stays.
        below: u64,
    },
    /// Notes the highest entry that is applied and synced on a node, if the node is a member, and
    /// its heartbeat is of this lease. So a late report of an earlier process changes nothing, and
    /// neither does one of a node that was removed: it may join again with an empty disk.
    Report {
        /// The shard.
        shard: ShardId,
        /// The node.
        node: NodeName,
        /// The lease.
        lease: LeaseId,
        /// The place of that entry.
        synced: u64,
    },
    /// The reports of all nodes.
    Reports(ShardId),
    /// Makes the cluster, with the first entry of each journal, unless there is one.
    CreateCluster(Charter),
    /// What the cluster is.
    Charter,
    /// Makes a node a member, with nothing reported, or changes its address. Membership is
    /// permanent: it does not depend on whether the node runs.
    Join(Member),
    /// Changes the address of a node, if it is a member.
    ChangeAddress(Member),
    /// Makes a node no member, and forgets what it has reported. Its heartbeat stays: it may lead.
    Remove(NodeName),
    /// The members.
    Members,
}

/// The answer to a [`LogRequest`], of the kind that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogAnswer {
    /// To [`LogRequest::Announce`].
    Announced(AnnounceOutcome),
    /// To [`LogRequest::KeepAlive`]: whether the heartbeat is of the lease.
    Alive(bool),
    /// To [`LogRequest::Lead`]: the present leader, perhaps another node. `None`: there is none,
    /// and the node that asks does not lead either.
    Leader(Option<LeaderAndHeartbeat>),
    /// To [`LogRequest::Append`].
    Appended(AppendOutcome),
    /// To [`LogRequest::Tail`].
    Tail(JournalTail),
    /// To [`LogRequest::First`]: its place and the entry.
    First(u64, Arc<[u8]>),
    /// To [`LogRequest::Report`]: whether it was noted.
    Reported(bool),
    /// To [`LogRequest::Reports`]: the place that each node has reported.
    Reports(Vec<(NodeName, u64)>),
    /// To [`LogRequest::CreateCluster`]: what the cluster is, which may have been made before.
    ClusterCreated(Charter),
    /// To [`LogRequest::Charter`]. `None`: there is no cluster yet.
    Charter(Option<Charter>),
    /// To [`LogRequest::Members`], by name.
    Members(Vec<Membership>),
    /// To the others: it is done.
    Done,
}

/// A node that belongs to the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Who it is.
    pub member: Member,
    /// Its last heartbeat. It is alive if that changes. `None`: it has left, or was never
    /// there.
    pub heartbeat: Option<Heartbeat>,
    /// The links that it does not have, as of its heartbeat.
    pub missing_links: Arc<[MissingLink]>,
}

/// The result of an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnounceOutcome {
    /// It has: now, or since the same request was sent before.
    Done,
    /// It has not: the heartbeat of the node is this one. `None`: there is none.
    Not(Option<Heartbeat>),
}

/// The result of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// It is in the journal: now, or since the same request was sent before.
    Done,
    /// It is not there and never will be: the leadership has ended.
    Fenced,
    /// It is not there, and another entry is, or the one before it is missing.
    Conflict,
}

/// A part of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalTail {
    /// The leader of the shard.
    pub leader: Option<LeaderAndHeartbeat>,
    /// The place of the first entry of the journal, or the place before the one that was asked for
    /// if that is there.
    pub first: u64,
    /// The place of its last entry.
    pub last: u64,
    /// The report of the node that asks.
    pub reported: Option<u64>,
    /// Entries with their places, without gaps. Empty if there are none.
    pub entries: Vec<(u64, Arc<[u8]>)>,
}

/// A request was not answered: whether it was carried out, or will be, is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct LogUnanswered(pub(crate) UnansweredReason);

/// Why a request was not answered.
#[derive(Debug, Clone)]
pub(crate) enum UnansweredReason {
    /// The log is out of reach, slow or refuses: the same request can be answered later.
    Silence(String),
    /// The contents of the log are damaged: no request like this is answered until a repair.
    Damage(String),
}

impl From<&str> for UnansweredReason {
    fn from(silence: &str) -> Self {
        Self::Silence(silence.to_owned())
    }
}

impl fmt::Display for UnansweredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Silence(why) | Self::Damage(why)) = self;
        f.write_str(why)
    }
}

/// A change of the log. Events can be late, and some can be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// These entries are in the journal of a shard. They have no gaps.
    Entries(ShardId, Vec<(u64, Arc<[u8]>)>),
    /// The leader of a shard since a revision of the log. Events can repeat, also before those of
    /// lower revisions.
    Leader(ShardId, Option<Leader>, u64),
    /// The members are others than before, or one has another address.
    Members,
}

/// An engine that keeps journals.
pub trait Log: Send + Sync + 'static {
    /// Sends a request, and waits for the answer for a bounded time.
    ///
    /// # Errors
    ///
    /// If there is no answer in this time.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the request may be carried out, now or later.
    fn call(
        &self,
        request: LogRequest,
    ) -> impl Future<Output = Result<LogAnswer, LogUnanswered>> + Send;

    /// Passes on changes, from now on, until the future is dropped. It reconnects by itself after
    /// a loss of the connection; changes in between are not passed on.
    fn watch(&self, tell: impl FnMut(LogEvent) + Send) -> impl Future<Output = ()> + Send;
}
