use bytes::Bytes;
use hyper_delay_etcd::{Client, Compare, Get, Keys, Put, Txn};

use super::TxnAnswer;
use crate::{
    Charter, ShardId,
    log::{
        LogAnswer,
        etcd::{error::EtcdError, key, value},
    },
    replica,
};

/// Sent twice, or late: the second copy finds the cluster of the first, or another one.
pub(super) async fn create_cluster(
    client: &Client,
    charter: Charter,
) -> Result<LogAnswer, EtcdError> {
    let charter = Charter::new(charter.cluster, charter.shards)?;
    let journals = (0..charter.shards).map(ShardId).map(|shard| {
        let genesis = replica::genesis(charter, shard).bytes;
        Put::new(key::entry(shard, 0), Bytes::copy_from_slice(&genesis))
    });
    // The journals of a cluster whose charter was deleted must not get a second beginning.
    let (from, to) = key::SHARDS;
    let txn = Txn::new()
        .when(Compare::absent(key::CHARTER))
        .when(Compare::absent(Keys::range(from, to)))
        .then(Put::new(key::CHARTER, value::encode_charter(charter)))
        .then_all(journals)
        .or_else(Get::new(key::CHARTER));
    let mut done = TxnAnswer::run(client, txn).await?;
    if done.succeeded {
        return Ok(LogAnswer::ClusterCreated(charter));
    }
    match done.read_one()? {
        Some(there) => Ok(LogAnswer::ClusterCreated(value::decode_charter(&there)?)),
        None => Err(EtcdError::Missing(key::CHARTER.into())),
    }
}
