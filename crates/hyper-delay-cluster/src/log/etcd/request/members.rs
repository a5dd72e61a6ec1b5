use hyper_delay_etcd::{Client, Compare, Get, Keys, Put, Txn};

use super::TxnAnswer;
use crate::log::{
    LogAnswer, Member, Membership,
    etcd::{error::EtcdError, key, value},
};

/// Sent twice: the same is written twice. A late copy makes no node a member.
pub(super) async fn relocate(client: &Client, member: &Member) -> Result<LogAnswer, EtcdError> {
    let node = key::node(&member.node);
    let txn = Txn::new()
        .when(Compare::present(node.clone()))
        .then(Put::new(node, value::encode_member(member)));
    TxnAnswer::run(client, txn).await?;
    Ok(LogAnswer::Done)
}

/// Changes nothing.
pub(super) async fn members(client: &Client) -> Result<LogAnswer, EtcdError> {
    let txn = Txn::new()
        .then(Get::new(Keys::prefix(key::NODES)))
        .then(Get::new(Keys::prefix(key::ALIVE)));
    let mut done = TxnAnswer::run(client, txn).await?;
    let (members, alive) = (done.read()?, done.read()?);
    let member = |kv| {
        let member = value::decode_member(kv)?;
        let heartbeat = value::find_heartbeat(&member.node, &alive)?;
        Ok(Membership {
            member,
            heartbeat: heartbeat.as_ref().map(|it| it.heartbeat),
            missing_links: heartbeat.map(|it| it.missing_links).unwrap_or_default(),
        })
    };
    let members: Result<_, EtcdError> = members.iter().map(member).collect();
    Ok(LogAnswer::Members(members?))
}
