use std::sync::Arc;

use etcd_client::{Compare, CompareOp, DeleteOptions, GetOptions, KvClient, Txn, TxnOp};

use super::Done;
use crate::cluster::{
    ShardId,
    log::{
        Answer, Appended, Fence,
        etcd::{error::EtcdError, key},
    },
};

/// Sent twice: the second copy finds the bytes of the first. A late copy finds them too, or a later
/// leadership, or, once they are trimmed, that the entry before them is missing.
pub(super) async fn append(
    kv: &mut KvClient,
    fence: Fence,
    seq: u64,
    entry: &Arc<[u8]>,
) -> Result<Answer, EtcdError> {
    let (lead, place) = (key::lead(fence.shard), key::entry(fence.shard, seq));
    let epoch = fence.epoch.cast_signed();
    let mut compares = vec![
        Compare::mod_revision(&*lead, CompareOp::Equal, epoch),
        Compare::version(&*place, CompareOp::Equal, 0),
    ];
    // There is no place before the first one, so the comparison must fail: no version is below 0.
    compares.push(match seq.checked_sub(1) {
        Some(before) => Compare::version(key::entry(fence.shard, before), CompareOp::Greater, 0),
        None => Compare::version(&*place, CompareOp::Less, 0),
    });
    let keys_only = GetOptions::new().with_keys_only();
    let txn = Txn::new()
        .when(compares)
        .and_then([TxnOp::put(&*place, &**entry, None)])
        .or_else([
            TxnOp::get(&*place, None),
            TxnOp::get(&*lead, Some(keys_only)),
        ]);
    let mut done = Done::run(kv, txn).await?;
    if done.succeeded {
        return Ok(Answer::Appended(Appended::Done));
    }
    let (there, leads) = (done.read_one()?, done.read_one()?);
    let is_there = there.is_some_and(|there| there.value() == &**entry);
    let is_led = leads.is_some_and(|leads| leads.mod_revision() == epoch);
    Ok(Answer::Appended(match (is_there, is_led) {
        (true, _) => Appended::Done,
        (false, false) => Appended::Fenced,
        (false, true) => Appended::Conflict,
    }))
}

/// Sent twice, or late: what is removed stays removed.
///
/// It names no places where nothing is: until etcd compacts its history, it looks at each key that
/// was there once.
pub(super) async fn trim(
    kv: &mut KvClient,
    shard: ShardId,
    from: u64,
    below: u64,
) -> Result<Answer, EtcdError> {
    if from < below {
        let range = DeleteOptions::new().with_range(key::entry(shard, below));
        kv.delete(key::entry(shard, from), Some(range)).await?;
    }
    Ok(Answer::Done)
}
