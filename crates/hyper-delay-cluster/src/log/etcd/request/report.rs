use hyper_delay_etcd::{Client, Compare, Get, Keys, Put, Txn};

use super::{Done, lease::is_of};
use crate::{
    ShardId,
    log::{
        Answer, LeaseId, NodeName,
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
) -> Result<Answer, EtcdError> {
    let txn = Txn::new()
        .when_all(is_of(node, lease))
        .when(Compare::present(key::node(node)))
        .then(Put::new(key::report(shard, node), value::report(synced)));
    let done = Done::run(client, txn).await?;
    Ok(Answer::Reported(done.succeeded))
}

/// Changes nothing.
pub(super) async fn reports(client: &Client, shard: ShardId) -> Result<Answer, EtcdError> {
    let all = Get::new(Keys::prefix(key::reports(shard)));
    let read = client.get(all).await?;
    let reports: Result<_, EtcdError> = read.kvs().iter().map(value::reported).collect();
    Ok(Answer::Reports(reports?))
}
