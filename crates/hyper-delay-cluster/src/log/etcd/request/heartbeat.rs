//! Heartbeats. etcd's own leases are not used: see [`etcd`](super::super).

use std::time::Duration;

use hyper_delay_etcd::{Client, Compare, Delete, Get, Put, Relation, Txn};

use super::TxnAnswer;
use crate::log::{
    AnnounceOutcome, LeaseId, LogAnswer, Member, MissingLink,
    etcd::{error::EtcdError, key, value},
};

/// Returns comparisons that hold if the heartbeat of a node is of a lease. They do not hold if
/// there is none.
pub(super) fn has_lease(node: &str, lease: LeaseId) -> [Compare; 2] {
    let alive = key::heartbeat(node);
    let (before, after) = value::lease_bounds(lease);
    [
        Compare::value(&*alive, Relation::Greater, before),
        Compare::value(&*alive, Relation::Less, after),
    ]
}

/// Sent twice: the second copy finds the heartbeat of the first. A late copy names a revision that
/// is gone. If it is to replace none, it can leave a heartbeat after the process has ended; the
/// next process waits for a lease.
pub(super) async fn announce(
    client: &Client,
    member: &Member,
    lease: LeaseId,
    ttl: Duration,
    over: u64,
) -> Result<LogAnswer, EtcdError> {
    let alive = key::heartbeat(&member.node);
    let txn = Txn::new()
        .when(Compare::mod_revision(&*alive, Relation::Equal, over))
        .then(Put::new(
            alive.clone(),
            value::encode_heartbeat(member, lease, ttl, &[]),
        ))
        .or_else(Get::new(alive));
    let mut done = TxnAnswer::run(client, txn).await?;
    if done.succeeded {
        return Ok(LogAnswer::Announced(AnnounceOutcome::Done));
    }
    let there = done.read_one()?;
    let there = there.as_ref().map(value::decode_heartbeat).transpose()?;
    let there = there.map(|it| it.heartbeat);
    Ok(LogAnswer::Announced(match there {
        Some(heartbeat) if heartbeat.lease == lease => AnnounceOutcome::Done,
        there => AnnounceOutcome::Not(there),
    }))
}

/// Sent twice, or late: the other nodes take the node for dead later, and the missing links are older
/// ones until the next one.
pub(super) async fn keep_alive(
    client: &Client,
    member: &Member,
    lease: LeaseId,
    ttl: Duration,
    missing_links: &[MissingLink],
) -> Result<LogAnswer, EtcdError> {
    let value = value::encode_heartbeat(member, lease, ttl, missing_links);
    let txn = Txn::new()
        .when_all(has_lease(&member.node, lease))
        .then(Put::new(key::heartbeat(&member.node), value));
    let done = TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Alive(done.succeeded))
}

/// Sent twice, or late: only the heartbeat of this lease is removed.
pub(super) async fn leave(
    client: &Client,
    node: &str,
    lease: LeaseId,
) -> Result<LogAnswer, EtcdError> {
    let txn = Txn::new()
        .when_all(has_lease(node, lease))
        .then(Delete::new(key::heartbeat(node)));
    TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Done)
}
