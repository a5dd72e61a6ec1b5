use etcd_client::{Compare, CompareOp, KvClient, Txn, TxnOp};

use super::Done;
use crate::cluster::{
    Charter, ShardId,
    log::{
        Answer,
        etcd::{error::EtcdError, key, value},
    },
    replica,
};

/// Sent twice, or late: the second copy finds the cluster of the first, or another one.
pub(super) async fn found(kv: &mut KvClient, charter: Charter) -> Result<Answer, EtcdError> {
    let charter = Charter::new(charter.cluster, charter.shards)?;
    let mut puts = vec![TxnOp::put(key::CHARTER, value::charter(charter), None)];
    for shard in (0..charter.shards).map(ShardId) {
        let genesis = replica::genesis(charter, shard).bytes;
        puts.push(TxnOp::put(key::entry(shard, 0), genesis, None));
    }
    // The journals of a cluster whose charter was deleted must not get a second beginning.
    let (from, to) = key::SHARDS;
    let txn = Txn::new()
        .when([
            Compare::version(key::CHARTER, CompareOp::Equal, 0),
            Compare::version(from, CompareOp::Equal, 0).with_range(to),
        ])
        .and_then(puts)
        .or_else([TxnOp::get(key::CHARTER, None)]);
    let mut done = Done::run(kv, txn).await?;
    if done.succeeded {
        return Ok(Answer::Founded(charter));
    }
    match done.read_one()? {
        Some(there) => Ok(Answer::Founded(value::founded(&there)?)),
        None => Err(EtcdError::Missing(key::CHARTER.into())),
    }
}
