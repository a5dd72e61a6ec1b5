use etcd_client::{Compare, CompareOp, GetOptions, KvClient, Txn, TxnOp};

use super::{Done, lease::is_of};
use crate::cluster::{
    ShardId,
    log::{
        Answer, Fence, Leader, LeaseId, Led, Member, Over,
        etcd::{error::EtcdError, key, value},
    },
};

/// Sent twice: the second copy finds the leadership of the first. A late copy can begin a
/// leadership after the node has resigned; the node learns of it like of any other, and resigns it
/// too. One that takes over names an epoch and a heartbeat, which do not come back.
pub(super) async fn lead(
    kv: &mut KvClient,
    shard: ShardId,
    lease: LeaseId,
    member: &Member,
    over: Option<&Over>,
) -> Result<Answer, EtcdError> {
    let lead = key::lead(shard);
    let mut compares = is_of(&member.node, lease).to_vec();
    // A key that is absent has revision 0, like the epoch of no leader.
    let revision = |key: String, revision: u64| {
        Compare::mod_revision(key, CompareOp::Equal, revision.cast_signed())
    };
    compares.push(revision(lead.clone(), over.map_or(0, |over| over.epoch)));
    if let Some(silence) = over.and_then(|over| over.silence.as_ref()) {
        compares.push(revision(key::alive(&silence.node), silence.revision));
    }
    let all = GetOptions::new().with_prefix();
    let txn = Txn::new()
        .when(compares)
        .and_then([
            TxnOp::put(&*lead, value::lead(member, lease), None),
            TxnOp::get(key::alive(&member.node), None),
        ])
        .or_else([TxnOp::get(&*lead, None), TxnOp::get(key::ALIVE, Some(all))]);
    let mut done = Done::run(kv, txn).await?;
    if done.succeeded {
        let beat = done.read_one()?;
        return Ok(Answer::Leads(Some(Led {
            leader: Leader {
                member: member.clone(),
                // The key was written in this revision.
                epoch: done.revision.cast_unsigned(),
                lease,
            },
            beat: beat.as_ref().map(value::beat_in).transpose()?,
        })));
    }
    let (there, alive) = (done.read_one()?, done.read()?);
    let led = there.map(|there| value::led(&there, &alive));
    Ok(Answer::Leads(led.transpose()?))
}

/// Sent twice, or late: each leadership has its own revision, so no other one is ended.
pub(super) async fn resign(kv: &mut KvClient, fence: Fence) -> Result<Answer, EtcdError> {
    let lead = key::lead(fence.shard);
    let epoch = fence.epoch.cast_signed();
    let txn = Txn::new()
        .when([Compare::mod_revision(&*lead, CompareOp::Equal, epoch)])
        .and_then([TxnOp::delete(&*lead, None)]);
    Done::run(kv, txn).await?;
    Ok(Answer::Done)
}
