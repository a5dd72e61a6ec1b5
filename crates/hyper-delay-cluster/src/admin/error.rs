//! Why an operator's request is not carried out.

use std::io;

use crate::{
    BadShards, ShardId,
    log::{LogUnanswered, NodeName, UnansweredReason},
};

/// A request of an operator failed. The message names the cure.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The log does not answer.
    #[error(
        "{0}; check that etcd runs and has a quorum, and the fields etcd, etcd_tls and etcd_user of \
         cluster in the configuration"
    )]
    Unanswered(LogUnanswered),
    /// The contents of the log are damaged. The error names the cure.
    #[error(transparent)]
    Damage(LogUnanswered),
    /// There is no cluster.
    #[error(
        "etcd has no cluster: make one with `hyper-delay cluster join`; if there was one, keep every \
         data_dir, and read \"etcd is lost\" in docs/cluster.md first"
    )]
    NoCluster,
    /// It is to have a number of shards that none can have.
    #[error(transparent)]
    Shards(#[from] BadShards),
    /// The number of shards is another one.
    #[error(
        "the cluster has {has} shards, and --shards is {wanted}: the number is fixed when a cluster \
         is made; leave --shards out"
    )]
    OtherShards {
        /// The number of its shards.
        has: u16,
        /// The number that was given.
        wanted: u16,
    },
    /// Another node has the address.
    #[error(
        "node {other} has the address {address}, which is `advertise` of this one: give each node \
         its own, or remove node {other} with `hyper-delay cluster remove {other}`"
    )]
    SameAddress {
        /// The other node.
        other: NodeName,
        /// The address of both.
        address: String,
    },
    /// A node that is alive has another address.
    #[error(
        "node {node} is alive at {address}: give this node another name, or stop that one first"
    )]
    AliveAt {
        /// The node.
        node: NodeName,
        /// The address that it has.
        address: String,
    },
    /// A node is no member.
    #[error("node {node:?} is no member; the members are: {members}")]
    NoMember {
        /// The node.
        node: String,
        /// The members.
        members: String,
    },
    /// The last member cannot be removed.
    #[error(
        "node {0} is the only member: add another one with `hyper-delay cluster join` first; to give \
         the cluster up, stop the node and delete all keys below /hd/ in etcd"
    )]
    Only(NodeName),
    /// A node that is to be removed is alive.
    #[error("node {0} is alive: stop it, then remove it, or give --force")]
    Alive(NodeName),
    /// Without a node, tasks would be lost.
    #[error(
        "no other member has synced the entries of shard {} before {first}, and the journal does \
         not have them any more: wait until another node has caught up, see `hyper-delay cluster \
         status`, or give --force and lose tasks", shard.0
    )]
    Needed {
        /// The shard.
        shard: ShardId,
        /// The first entry of its journal.
        first: u64,
    },
    /// A node runs, and none may.
    #[error("node {0} is running: stop all nodes of the cluster, then import again")]
    Running(NodeName),
    /// The cluster has been in use.
    #[error(
        "the journal of shard {} has entry {last}, so the cluster is in use or was imported into: \
         tasks can be imported into a new cluster only. If it has no tasks that are needed, stop its \
         nodes, delete all keys below /hd/ in etcd and the data_dir of each node, and begin with \
         `hyper-delay cluster join`", shard.0
    )]
    InUse {
        /// The shard.
        shard: ShardId,
        /// The last entry of its journal.
        last: u64,
    },
    /// There are no random numbers.
    #[error("the operating system has no random numbers: {0}")]
    Random(io::Error),
}

impl From<LogUnanswered> for AdminError {
    fn from(error: LogUnanswered) -> Self {
        match error.0 {
            UnansweredReason::Silence(_) => Self::Unanswered(error),
            UnansweredReason::Damage(_) => Self::Damage(error),
        }
    }
}
