use std::sync::Arc;

use bytes::Bytes;
use hyper_delay_etcd::{Client, Compare, Delete, Get, Keys, Put, Relation, Txn};

use super::TxnAnswer;
use crate::{
    ShardId,
    log::{
        AppendOutcome, Fence, LogAnswer,
        etcd::{error::EtcdError, key},
    },
};

/// Sent twice: the second copy finds the bytes of the first. A late copy finds them too, or a later
/// leadership, or, once they are trimmed, that the entry before them is missing.
pub(super) async fn append(
    client: &Client,
    fence: Fence,
    seq: u64,
    entry: &Arc<[u8]>,
) -> Result<LogAnswer, EtcdError> {
    let (lead, place) = (key::leader(fence.shard), key::entry(fence.shard, seq));
    let follows = match seq.checked_sub(1) {
        Some(before) => Compare::present(key::entry(fence.shard, before)),
        // There is no place before the first one, so this must not hold: no version is below 0.
        None => Compare::version(&*place, Relation::Less, 0),
    };
    let txn = Txn::new()
        .when(Compare::mod_revision(&*lead, Relation::Equal, fence.epoch))
        .when(Compare::absent(&*place))
        .when(follows)
        .then(Put::new(place.clone(), Bytes::copy_from_slice(entry)))
        .or_else(Get::new(place))
        .or_else(Get::new(lead).keys_only());
    let mut done = TxnAnswer::run(client, txn).await?;
    if done.succeeded {
        return Ok(LogAnswer::Appended(AppendOutcome::Done));
    }
    let (there, leads) = (done.read_one()?, done.read_one()?);
    let is_there = there.is_some_and(|there| there.value() == &**entry);
    let is_led = leads.is_some_and(|leads| leads.mod_revision() == fence.epoch);
    Ok(LogAnswer::Appended(match (is_there, is_led) {
        (true, _) => AppendOutcome::Done,
        (false, false) => AppendOutcome::Fenced,
        (false, true) => AppendOutcome::Conflict,
    }))
}

/// Sent twice, or late: what is removed stays removed.
///
/// It names no places where nothing is: until etcd compacts its history, it looks at each key that
/// was there once.
pub(super) async fn trim(
    client: &Client,
    shard: ShardId,
    from: u64,
    below: u64,
) -> Result<LogAnswer, EtcdError> {
    if from < below {
        let places = Keys::range(key::entry(shard, from), key::entry(shard, below));
        client.delete(Delete::new(places)).await?;
    }
    Ok(LogAnswer::Done)
}
