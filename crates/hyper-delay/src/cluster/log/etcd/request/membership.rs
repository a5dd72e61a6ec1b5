use etcd_client::{Compare, CompareOp, KvClient, Txn, TxnOp};

use super::{Done, charter::charter};
use crate::cluster::{
    ShardId,
    log::{
        Answer, Member, NodeName,
        etcd::{error::EtcdError, key, value},
    },
};

/// Sent twice: the same is written twice. A late copy can make a node a member that was removed
/// since: an operator asks for it, and looks at the members afterwards. It never removes what a
/// member has reported.
pub(super) async fn join(kv: &mut KvClient, member: &Member) -> Result<Answer, EtcdError> {
    let key = key::node(&member.node);
    let put = || TxnOp::put(&*key, value::reached(member), None);
    let mut ops = no_reports(kv, &member.node).await?;
    ops.push(put());
    let txn = Txn::new()
        .when([Compare::version(&*key, CompareOp::Equal, 0)])
        .and_then(ops)
        .or_else([put()]);
    Done::run(kv, txn).await?;
    Ok(Answer::Done)
}

/// Sent twice: the second copy finds nothing. A late copy can remove a node that has joined since;
/// see [`join`].
pub(super) async fn remove(kv: &mut KvClient, node: &NodeName) -> Result<Answer, EtcdError> {
    let mut ops = no_reports(kv, node).await?;
    ops.push(TxnOp::delete(key::node(node), None));
    Done::run(kv, Txn::new().and_then(ops)).await?;
    Ok(Answer::Done)
}

/// Returns what removes the reports of a node. The number of shards is read before: it never changes.
async fn no_reports(kv: &mut KvClient, node: &NodeName) -> Result<Vec<TxnOp>, EtcdError> {
    let shards = charter(kv).await?.map_or(0, |charter| charter.shards);
    let reports = (0..shards).map(|shard| key::report(ShardId(shard), node));
    Ok(reports.map(|key| TxnOp::delete(key, None)).collect())
}
