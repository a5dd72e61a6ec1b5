use etcd_client::{Compare, CompareOp, KvClient, PutOptions, Txn, TxnOp};

use super::Done;
use crate::cluster::{
    ShardId,
    log::{
        Answer, Fence, Leader, LeaseId, Member,
        etcd::{error::EtcdError, key, value},
    },
};

/// Sent twice: the second copy finds the leadership of the first. A late copy can begin a leadership
/// after the node has resigned; the node learns of it like of any other, and resigns it too.
pub(super) async fn lead(
    kv: &mut KvClient,
    shard: ShardId,
    lease: LeaseId,
    member: &Member,
) -> Result<Answer, EtcdError> {
    let lead = key::lead(shard);
    let options = PutOptions::new().with_lease(lease.0);
    let txn = Txn::new()
        .when([Compare::version(&*lead, CompareOp::Equal, 0)])
        .and_then([TxnOp::put(&*lead, value::lead(member), Some(options))])
        .or_else([TxnOp::get(&*lead, None)]);
    let mut done = match Done::run(kv, txn).await {
        Err(error) if error.is_lease_not_found() => return Ok(Answer::Leads(None)),
        done => done?,
    };
    if done.succeeded {
        // The key was made in this revision.
        return Ok(Answer::Leads(Some(Leader {
            member: member.clone(),
            epoch: done.revision.cast_unsigned(),
            lease,
        })));
    }
    let there = done.read_one()?;
    Ok(Answer::Leads(
        there.as_ref().map(value::leader).transpose()?,
    ))
}

/// Sent twice, or late: each leadership has its own revision, so no other one is ended.
pub(super) async fn resign(kv: &mut KvClient, fence: Fence) -> Result<Answer, EtcdError> {
    let lead = key::lead(fence.shard);
    let epoch = fence.epoch.cast_signed();
    let txn = Txn::new()
        .when([Compare::create_revision(&*lead, CompareOp::Equal, epoch)])
        .and_then([TxnOp::delete(&*lead, None)]);
    Done::run(kv, txn).await?;
    Ok(Answer::Done)
}
