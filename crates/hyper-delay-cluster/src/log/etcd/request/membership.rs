use hyper_delay_etcd::{Client, Compare, Delete, Put, Txn};

use super::{TxnAnswer, charter::charter};
use crate::{
    ShardId,
    log::{
        LogAnswer, Member, NodeName,
        etcd::{error::EtcdError, key, value},
    },
};

/// Sent twice: the same is written twice. A late copy can make a node a member that was removed
/// since: an operator asks for it, and looks at the members afterwards. It never removes what a
/// member has reported.
pub(super) async fn join(client: &Client, member: &Member) -> Result<LogAnswer, EtcdError> {
    let key = key::node(&member.node);
    let put = Put::new(key.clone(), value::encode_member(member));
    let txn = Txn::new()
        .when(Compare::absent(key))
        .then_all(delete_reports(client, &member.node).await?)
        .then(put.clone())
        .or_else(put);
    TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Done)
}

/// Sent twice: the second copy finds nothing. A late copy can remove a node that has joined since;
/// see [`join`].
pub(super) async fn remove(client: &Client, node: &NodeName) -> Result<LogAnswer, EtcdError> {
    let txn = Txn::new()
        .then_all(delete_reports(client, node).await?)
        .then(Delete::new(key::node(node)));
    TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Done)
}

/// Returns what removes the reports of a node. The number of shards is read before: it never changes.
async fn delete_reports(client: &Client, node: &NodeName) -> Result<Vec<Delete>, EtcdError> {
    let shards = charter(client).await?.map_or(0, |charter| charter.shards);
    let reports = (0..shards).map(|shard| key::report(ShardId(shard), node));
    Ok(reports.map(Delete::new).collect())
}
