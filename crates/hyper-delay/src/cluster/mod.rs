//! Several nodes that keep the same tasks.
//!
//! A trusted engine keeps, for each shard of the tasks, a *journal*: the latest batches of writes,
//! in order ([`log`]). A batch is durable, and is acknowledged, when it is in the journal. Every
//! node applies the journal of every shard to a store of its own ([`replica`]); one node leads the
//! shard: it runs the scheduler and appends to the journal ([`shard`]). All these are state
//! machines; a node runs them on threads ([`node`]).
//!
//! ```text
//! leader:    scheduler ──job──▶ ledger ──batch──▶ journal ──▶ store ──▶ scheduler ──▶ replies
//! followers:                                        └──────▶ store
//! ```
//!
//! # What keeps two leaders apart
//!
//! - **The fence.** An entry is appended only while the leadership is the one that the request names,
//!   and only in the place after the last one. So a leader that was replaced cannot append any more,
//!   and the next one, which first reads the journal to its end, has seen all that it did append.
//! - **The lease.** A leadership ends when the lease of its node does. A leader stops before that, by
//!   its own clock ([`lease`]). So what is not in the journal, a delivery, is only started by a leader
//!   that has no successor yet.
//!
//! # What is not known
//!
//! An append without an answer may have been carried out, or may be carried out later. It is
//! settled by sending the same request until there is an answer: an entry that is there already is
//! recognised. If the leadership ends before, the leader forgets what it had in memory, and reads
//! the journal like any other node.

mod calls;
pub(crate) mod clock_check;
mod entry;
pub(crate) mod forward;
pub(crate) mod lease;
pub(crate) mod log;
pub(crate) mod node;
pub(crate) mod replica;
pub(crate) mod shard;
#[cfg(test)]
mod simulation;

use serde::{Deserialize, Serialize};

/// A shard of the tasks, by its number from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub(crate) struct ShardId(pub(crate) u16);

/// What a cluster is, fixed when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Charter {
    /// A random number that no other cluster has.
    pub cluster: u128,
    /// The number of shards, from 1.
    pub shards: u16,
}
