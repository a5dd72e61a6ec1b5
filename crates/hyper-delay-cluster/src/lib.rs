//! Several nodes that keep the same tasks.
//!
//! A trusted engine keeps, for each shard of the tasks, a *journal*: the latest batches of writes,
//! in order ([`log`]). A batch is durable, and is acknowledged, when it is in the journal. Every
//! node applies the journal of every shard to a store of its own (`replica`); one node leads the
//! shard: it runs the scheduler and appends to the journal (`shard`). All these are state
//! machines; a node runs them on threads (`node`).
//!
//! ```text
//! leader:    scheduler ──job──▶ ledger ──batch──▶ journal ──▶ store ──▶ scheduler ──▶ replies
//! followers:                                        └──────▶ store
//! ```
//!
//! # Why there are never two leaders
//!
//! - **The fence.** An entry is appended only while the leadership is the one that the request
//!   names, and only in the place after the last one. So a leader that was replaced cannot append
//!   any more, and the next one, which first reads the journal to its end, has seen all that it did
//!   append.
//! - **The lease.** A leadership is taken over when its node has sent no heartbeat for a lease.
//!   A leader stops before that, by its own clock (`lease`). So what is not in the journal, a
//!   delivery, is only started by a leader that has no successor yet. The engine keeps no time:
//!   `heartbeat` has the protocol of the nodes, and its proof.
//!
//! # Reads
//!
//! A node reads its replicas of all shards as one store (`merged`), so it answers every request
//! that changes nothing.
//!
//! # Unknown outcomes
//!
//! An append without an answer may have been carried out, or may be carried out later. It is
//! settled by sending the same request until there is an answer: an entry that is there already is
//! recognised. If the leadership ends before, the leader forgets what it had in memory, and reads
//! the journal like any other node.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]
#![cfg_attr(
    not(any(feature = "etcd", test)),
    expect(dead_code, reason = "only a node with a journal uses most of it")
)]

pub mod admin;
mod call_id;
mod clock_check;
mod entry;
mod forward;
mod heartbeat;
pub mod import;
mod lease;
pub mod link;
pub mod log;
mod merged;
mod node;
mod replica;
mod run;
mod serving_node;
pub mod setup;
mod shard;
mod sharding;
#[cfg(test)]
mod simulation;
mod snapshot;

pub use run::ClusterError;
#[cfg(feature = "etcd")]
pub use run::{ServerSetup, run};
pub use sharding::{BadShards, Charter, ShardId};
pub(crate) use sharding::{first_seq, shard_of, shard_of_seq};
