use etcd_client::{Compare, CompareOp, GetOptions, KvClient, Txn, TxnOp};

use super::Done;
use crate::cluster::log::{
    Answer, Member, Membership,
    etcd::{error::EtcdError, key, value},
};

/// Sent twice: the same is written twice. A late copy makes no node a member.
pub(super) async fn relocate(kv: &mut KvClient, member: &Member) -> Result<Answer, EtcdError> {
    let node = key::node(&member.node);
    let txn = Txn::new()
        .when([Compare::version(&*node, CompareOp::Greater, 0)])
        .and_then([TxnOp::put(&*node, value::reached(member), None)]);
    Done::run(kv, txn).await?;
    Ok(Answer::Done)
}

/// Changes nothing.
pub(super) async fn members(kv: &mut KvClient) -> Result<Answer, EtcdError> {
    let all = GetOptions::new().with_prefix();
    let txn = Txn::new().and_then([
        TxnOp::get(key::NODES, Some(all.clone())),
        TxnOp::get(key::ALIVE, Some(all)),
    ]);
    let mut done = Done::run(kv, txn).await?;
    let (members, alive) = (done.read()?, done.read()?);
    let member = |kv| {
        let member = value::member(kv)?;
        let beat = value::beat_of(&member.node, &alive)?;
        Ok(Membership { member, beat })
    };
    let members: Result<_, EtcdError> = members.iter().map(member).collect();
    Ok(Answer::Members(members?))
}
