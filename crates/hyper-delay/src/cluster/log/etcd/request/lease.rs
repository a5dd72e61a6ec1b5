//! Heartbeats. etcd's own leases are not used: see [`etcd`](super::super).

use std::time::Duration;

use etcd_client::{Compare, CompareOp, KvClient, PutOptions, Txn, TxnOp};

use super::Done;
use crate::cluster::log::{
    Announced, Answer, LeaseId, Member,
    etcd::{error::EtcdError, key, value},
};

/// Returns comparisons that hold if the heartbeat of a node is of a lease. They do not hold if
/// there is none.
pub(super) fn is_of(node: &str, lease: LeaseId) -> [Compare; 2] {
    let alive = key::alive(node);
    let (before, after) = value::of_lease(lease);
    [
        Compare::value(&*alive, CompareOp::Greater, before),
        Compare::value(&*alive, CompareOp::Less, after),
    ]
}

/// Sent twice: the second copy finds the heartbeat of the first. A late copy names a revision that
/// is gone. If it is to replace none, it can leave a heartbeat after the process has ended; the
/// next process waits for a lease.
pub(super) async fn announce(
    kv: &mut KvClient,
    member: &Member,
    lease: LeaseId,
    ttl: Duration,
    over: u64,
) -> Result<Answer, EtcdError> {
    let alive = key::alive(&member.node);
    let over = over.cast_signed();
    let txn = Txn::new()
        .when([Compare::mod_revision(&*alive, CompareOp::Equal, over)])
        .and_then([TxnOp::put(&*alive, value::alive(member, lease, ttl), None)])
        .or_else([TxnOp::get(&*alive, None)]);
    let mut done = Done::run(kv, txn).await?;
    if done.succeeded {
        return Ok(Answer::Announced(Announced::Done));
    }
    let there = done.read_one()?;
    let there = there.as_ref().map(value::beat_in).transpose()?;
    Ok(Answer::Announced(match there {
        Some(beat) if beat.lease == lease => Announced::Done,
        there => Announced::Not(there),
    }))
}

/// Sent twice, or late: the other nodes take the node for dead later.
pub(super) async fn keep_alive(
    kv: &mut KvClient,
    node: &str,
    lease: LeaseId,
) -> Result<Answer, EtcdError> {
    let same = PutOptions::new().with_ignore_value();
    let txn = Txn::new().when(is_of(node, lease)).and_then([TxnOp::put(
        key::alive(node),
        "",
        Some(same),
    )]);
    let done = Done::run(kv, txn).await?;
    Ok(Answer::Alive(done.succeeded))
}

/// Sent twice, or late: only the heartbeat of this lease is removed.
pub(super) async fn leave(
    kv: &mut KvClient,
    node: &str,
    lease: LeaseId,
) -> Result<Answer, EtcdError> {
    let txn = Txn::new()
        .when(is_of(node, lease))
        .and_then([TxnOp::delete(key::alive(node), None)]);
    Done::run(kv, txn).await?;
    Ok(Answer::Done)
}
