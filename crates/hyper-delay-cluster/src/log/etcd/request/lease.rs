//! Heartbeats. etcd's own leases are not used: see [`etcd`](super::super).

use std::time::Duration;

use hyper_delay_etcd::{Client, Compare, Delete, Get, Put, Relation, Txn};

use super::Done;
use crate::log::{
    Announced, Answer, LeaseId, Member, MissingLink,
    etcd::{error::EtcdError, key, value},
};

/// Returns comparisons that hold if the heartbeat of a node is of a lease. They do not hold if
/// there is none.
pub(super) fn is_of(node: &str, lease: LeaseId) -> [Compare; 2] {
    let alive = key::alive(node);
    let (before, after) = value::of_lease(lease);
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
) -> Result<Answer, EtcdError> {
    let alive = key::alive(&member.node);
    let txn = Txn::new()
        .when(Compare::mod_revision(&*alive, Relation::Equal, over))
        .then(Put::new(
            alive.clone(),
            value::alive(member, lease, ttl, &[]),
        ))
        .or_else(Get::new(alive));
    let mut done = Done::run(client, txn).await?;
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

/// Sent twice, or late: the other nodes take the node for dead later, and the missing links are older
/// ones until the next one.
pub(super) async fn keep_alive(
    client: &Client,
    member: &Member,
    lease: LeaseId,
    ttl: Duration,
    missing_links: &[MissingLink],
) -> Result<Answer, EtcdError> {
    let value = value::alive(member, lease, ttl, missing_links);
    let txn = Txn::new()
        .when_all(is_of(&member.node, lease))
        .then(Put::new(key::alive(&member.node), value));
    let done = Done::run(client, txn).await?;
    Ok(Answer::Alive(done.succeeded))
}

/// Sent twice, or late: only the heartbeat of this lease is removed.
pub(super) async fn leave(
    client: &Client,
    node: &str,
    lease: LeaseId,
) -> Result<Answer, EtcdError> {
    let txn = Txn::new()
        .when_all(is_of(node, lease))
        .then(Delete::new(key::alive(node)));
    Done::run(client, txn).await?;
    Ok(Answer::Done)
}
