use hyper_delay_etcd::{Client, Compare, Get, Keys, Put, Txn};

use super::{TxnAnswer, heartbeat::has_lease};
use crate::{
    ShardId,
    log::{
        LeaseId, LogAnswer, NodeName,
        etcd::{error::EtcdError, key, value},
    },
};

/// Sent twice: the same is noted twice. A late copy of the same process notes less than is true
/// until the next report, so less is trimmed; one of an earlier process has an earlier lease. A node
/// that was removed and still runs, or a late copy of its report, finds that it is no member.
pub(super) async fn report(
    client: &Client,
    shard: ShardId,
    node: &NodeName,
    lease: LeaseId,
    synced: u64,
) -> Result<LogAnswer, EtcdError> {
    let txn = Txn::new()
        .when_all(has_lease(node, lease))
        .when(Compare::present(key::node(node)))
        .then(Put::new(
            key::report(shard, node),
            value::encode_report(synced),
        ));
    let done = TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Reported(done.succeeded))
}

/// Changes nothing.
pub(super) async fn reports(client: &Client, shard: ShardId) -> Result<LogAnswer, EtcdError> {
    let all = Get::new(Keys::prefix(key::reports(shard)));
    let read = client.get(all).await?;
    let reports: Result<_, EtcdError> = read.kvs().iter().map(value::decode_report).collect();
    Ok(LogAnswer::Reports(reports?))
}
