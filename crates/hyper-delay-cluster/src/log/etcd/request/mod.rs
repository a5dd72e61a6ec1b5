//! What each request asks of one member of etcd: one transaction, unless it says otherwise.
//!
//! A request can be sent more than once: to another member, or again after there was no answer. And
//! each copy can be carried out late. So each one says why that does no harm.

mod append;
mod charter;
mod found;
mod lead;
mod lease;
mod members;
mod membership;
mod report;
mod tail;

use hyper_delay_etcd::{Client, GetResponse, KeyValue, Txn};

use super::{endpoints::Pace, error::EtcdError};
use crate::log::{Answer, Request};

/// Returns how soon a further member is asked.
pub(super) const fn pace(request: &Request) -> Pace {
    match request {
        Request::Announce { .. } | Request::KeepAlive { .. } => Pace::Soon,
        // A copy that is late could undo what an operator has done since.
        Request::Move(_) => Pace::Never,
        Request::Join(_) | Request::Remove(_) => Pace::Never,
        _ => Pace::Late,
    }
}

/// Asks one member of etcd.
pub(super) async fn carry_out(client: &Client, request: &Request) -> Result<Answer, EtcdError> {
    match request {
        Request::Announce {
            member,
            lease,
            ttl,
            over,
        } => lease::announce(client, member, *lease, *ttl, *over).await,
        Request::KeepAlive {
            member,
            lease,
            ttl,
            missing_links,
        } => lease::keep_alive(client, member, *lease, *ttl, missing_links).await,
        Request::Leave { node, lease } => lease::leave(client, node, *lease).await,
        Request::Lead {
            shard,
            lease,
            member,
            over,
        } => lead::lead(client, *shard, *lease, member, over.as_ref()).await,
        Request::Resign(fence) => lead::resign(client, *fence).await,
        Request::Append { fence, seq, entry } => append::append(client, *fence, *seq, entry).await,
        Request::Tail { shard, from, node } => tail::tail(client, *shard, *from, node).await,
        Request::First { shard, from } => tail::first(client, *shard, *from).await,
        Request::Trim { shard, from, below } => append::trim(client, *shard, *from, *below).await,
        Request::Report {
            shard,
            node,
            lease,
            synced,
        } => report::report(client, *shard, node, *lease, *synced).await,
        Request::Reports(shard) => report::reports(client, *shard).await,
        Request::Found(charter) => found::found(client, *charter).await,
        Request::Charter => Ok(Answer::Charter(charter::charter(client).await?)),
        Request::Join(member) => membership::join(client, member).await,
        Request::Move(member) => members::relocate(client, member).await,
        Request::Remove(node) => membership::remove(client, node).await,
        Request::Members => members::members(client).await,
    }
}

/// The answer to a transaction: its reads, in order.
struct Done {
    succeeded: bool,
    revision: u64,
    reads: std::vec::IntoIter<GetResponse>,
}

impl Done {
    /// Carries out a transaction.
    async fn run(client: &Client, txn: Txn) -> Result<Self, EtcdError> {
        let answer = client.txn(txn).await?;
        Ok(Self {
            succeeded: answer.succeeded(),
            revision: answer.revision(),
            reads: answer.into_reads().into_iter(),
        })
    }

    /// Returns the result of the next read.
    fn read(&mut self) -> Result<Vec<KeyValue>, EtcdError> {
        Ok(self.read_counted()?.0)
    }

    /// Returns the result of the next read, and how many keys there are without its limit.
    fn read_counted(&mut self) -> Result<(Vec<KeyValue>, u64), EtcdError> {
        let read = self.reads.next();
        let read = read.ok_or(EtcdError::NoRead)?;
        let count = read.count();
        Ok((read.into_kvs(), count))
    }

    /// Returns the result of the next read, which is of one key.
    fn read_one(&mut self) -> Result<Option<KeyValue>, EtcdError> {
        Ok(self.read()?.pop())
    }
}
