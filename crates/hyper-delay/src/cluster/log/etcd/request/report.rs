use etcd_client::{Compare, CompareOp, GetOptions, KvClient, Txn, TxnOp};

use super::{Done, lease::is_of};
use crate::cluster::{
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
    kv: &mut KvClient,
    shard: ShardId,
    node: &NodeName,
    lease: LeaseId,
    synced: u64,
) -> Result<Answer, EtcdError> {
    let note = TxnOp::put(key::report(shard, node), value::report(synced), None);
    let [from, to] = is_of(node, lease);
    let is_member = Compare::version(key::node(node), CompareOp::Greater, 0);
    let txn = Txn::new().when([from, to, is_member]).and_then([note]);
    let done = Done::run(kv, txn).await?;
    Ok(Answer::Reported(done.succeeded))
}

/// Changes nothing.
pub(super) async fn reports(kv: &mut KvClient, shard: ShardId) -> Result<Answer, EtcdError> {
    let all = GetOptions::new().with_prefix();
    let mut read = kv.get(key::reports(shard), Some(all)).await?;
    let reports: Result<_, EtcdError> = read.take_kvs().iter().map(value::reported).collect();
    Ok(Answer::Reports(reports?))
}
