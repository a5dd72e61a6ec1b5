use hyper_delay_etcd::{Client, Compare, Get, Keys, Put, Txn};

use super::Done;
use crate::log::{
    Answer, Member, Membership,
    etcd::{error::EtcdError, key, value},
};

/// Sent twice: the same is written twice. A late copy makes no node a member.
pub(super) async fn relocate(client: &Client, member: &Member) -> Result<Answer, EtcdError> {
    let node = key::node(&member.node);
    let txn = Txn::new()
        .when(Compare::present(node.clone()))
        .then(Put::new(node, value::reached(member)));
    Done::run(client, txn).await?;
    Ok(Answer::Done)
}

/// Changes nothing.
pub(super) async fn members(client: &Client) -> Result<Answer, EtcdError> {
    let txn = Txn::new()
        .then(Get::new(Keys::prefix(key::NODES)))
        .then(Get::new(Keys::prefix(key::ALIVE)));
    let mut done = Done::run(client, txn).await?;
    let (members, alive) = (done.read()?, done.read()?);
    let member = |kv| {
        let member = value::member(kv)?;
        let heartbeat = value::heartbeat_of(&member.node, &alive)?;
        Ok(Membership {
            member,
            beat: heartbeat.as_ref().map(|it| it.beat),
            missing_links: heartbeat.map(|it| it.missing_links).unwrap_or_default(),
        })
    };
    let members: Result<_, EtcdError> = members.iter().map(member).collect();
    Ok(Answer::Members(members?))
}
