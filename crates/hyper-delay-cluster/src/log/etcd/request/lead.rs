use hyper_delay_etcd::{Client, Compare, Delete, Get, Keys, Put, Relation, Txn};

use super::{TxnAnswer, heartbeat::has_lease};
use crate::{
    ShardId,
    log::{
        Fence, Leader, LeaderAndHeartbeat, LeaseId, LogAnswer, Member, Takeover,
        etcd::{error::EtcdError, key, value},
    },
};

/// Sent twice: the second copy finds the leadership of the first. A late copy can begin a
/// leadership after the node has resigned; the node learns of it like of any other, and resigns it
/// too. One that takes over names an epoch and a heartbeat, which do not come back.
pub(super) async fn lead(
    client: &Client,
    shard: ShardId,
    lease: LeaseId,
    member: &Member,
    over: Option<&Takeover>,
) -> Result<LogAnswer, EtcdError> {
    let lead = key::leader(shard);
    // A key that is absent has revision 0, like the epoch of no leader.
    let epoch = over.map_or(0, |over| over.epoch);
    let silence = over.and_then(|over| over.silence.as_ref());
    let silent = silence.map(|silence| {
        let alive = key::heartbeat(&silence.node);
        Compare::mod_revision(alive, Relation::Equal, silence.revision)
    });
    let txn = Txn::new()
        .when_all(has_lease(&member.node, lease))
        .when(Compare::mod_revision(&*lead, Relation::Equal, epoch))
        .when_all(silent)
        .then(Put::new(lead.clone(), value::encode_leader(member, lease)))
        .then(Get::new(key::heartbeat(&member.node)))
        .or_else(Get::new(lead))
        .or_else(Get::new(Keys::prefix(key::ALIVE)));
    let mut done = TxnAnswer::run(client, txn).await?;
    if done.succeeded {
        let heartbeat = done.read_one()?;
        let heartbeat = heartbeat
            .as_ref()
            .map(value::decode_heartbeat)
            .transpose()?;
        return Ok(LogAnswer::Leader(Some(LeaderAndHeartbeat {
            leader: Leader {
                member: member.clone(),
                // The key was written in this revision.
                epoch: done.revision,
                lease,
            },
            heartbeat: heartbeat.map(|it| it.heartbeat),
        })));
    }
    let (there, alive) = (done.read_one()?, done.read()?);
    let led = there.map(|there| value::decode_leader_and_heartbeat(&there, &alive));
    Ok(LogAnswer::Leader(led.transpose()?))
}

/// Sent twice, or late: each leadership has its own revision, so no other one is ended.
pub(super) async fn resign(client: &Client, fence: Fence) -> Result<LogAnswer, EtcdError> {
    let lead = key::leader(fence.shard);
    let txn = Txn::new()
        .when(Compare::mod_revision(&*lead, Relation::Equal, fence.epoch))
        .then(Delete::new(lead));
    TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Done)
}
