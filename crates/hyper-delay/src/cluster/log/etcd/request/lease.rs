use std::time::Duration;

use etcd_client::{
    Client, Compare, CompareOp, GetOptions, KvClient, LeaseClient, PutOptions, Txn, TxnOp,
};

use super::Done;
use crate::cluster::log::{
    Answer, LeaseId, Member,
    etcd::{error::EtcdError, key, value},
};

/// Sent twice: two leases are granted, and the one whose answer is lost ends by itself.
pub(super) async fn grant(leases: &mut LeaseClient, ttl: Duration) -> Result<Answer, EtcdError> {
    // etcd counts whole seconds, and grants more than it is asked for if that is very short.
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let granted = leases.grant(seconds, None).await?;
    Ok(Answer::Granted(LeaseId(granted.id()), lasts(granted.ttl())))
}

/// Sent twice, or late: the lease lasts longer than the node knows.
///
/// etcd answers a sign of life without asking its other members. A leader of etcd that is cut off, and
/// has a successor already, takes it all the same, and the successor, which ends the lease, knows
/// nothing of it (etcd before 3.4.31 and 3.5.13). Two linearizable reads around it exclude that: if
/// this member answers both in the same term, the leader of that term was the only one in between.
/// A successor counts every lease anew, from a later moment.
pub(super) async fn keep_alive(client: &Client, lease: LeaseId) -> Result<Answer, EtcdError> {
    let mut kv = client.kv_client();
    let before = term(&mut kv).await?;
    let Some(ttl) = renew(&mut client.lease_client(), lease).await? else {
        return Ok(Answer::Alive(None));
    };
    if term(&mut kv).await? != before {
        return Err(EtcdError::LeaderChanged);
    }
    Ok(Answer::Alive(Some(lasts(ttl))))
}

/// Returns the number of seconds that the lease lasts from now on. `None`: it has ended.
async fn renew(leases: &mut LeaseClient, lease: LeaseId) -> Result<Option<i64>, EtcdError> {
    let begun = leases.keep_alive(lease.0).await.map_err(EtcdError::from);
    let (mut keeper, mut answers) = match begun {
        Err(error) if error.is_lease_not_found() => return Ok(None),
        begun => begun?,
    };
    // The client keeps the first answer to itself, and with it how long the lease lasts.
    keeper.keep_alive().await?;
    let answer = answers.message().await?;
    let answer = answer.ok_or(EtcdError::Incomplete("how long the lease lasts"))?;
    Ok(Some(answer.ttl()).filter(|ttl| *ttl > 0))
}

/// Returns the term of etcd's leader, who was the leader a moment ago for sure.
async fn term(kv: &mut KvClient) -> Result<u64, EtcdError> {
    let keys_only = GetOptions::new().with_keys_only();
    let read = kv.get(key::CHARTER, Some(keys_only)).await?;
    let header = read.header().ok_or(EtcdError::Incomplete("a header"))?;
    Ok(header.raft_term())
}

/// Sent twice: the second copy finds the lease of the first. A late copy finds that the lease has
/// ended, or announces one that the node still keeps alive.
pub(super) async fn announce(
    kv: &mut KvClient,
    member: &Member,
    lease: LeaseId,
) -> Result<Answer, EtcdError> {
    let alive = key::alive(&member.node);
    let options = PutOptions::new().with_lease(lease.0);
    let txn = Txn::new()
        .when([Compare::version(&*alive, CompareOp::Equal, 0)])
        .and_then([TxnOp::put(&*alive, value::reached(member), Some(options))])
        .or_else([TxnOp::get(&*alive, None)]);
    let mut done = match Done::run(kv, txn).await {
        Err(error) if error.is_lease_not_found() => return Ok(Answer::Announced(false)),
        done => done?,
    };
    let is_announced = done.succeeded || done.read_one()?.is_some_and(|kv| kv.lease() == lease.0);
    Ok(Answer::Announced(is_announced))
}

fn lasts(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}
