//! Each request as operations on one member of etcd: one transaction, unless noted otherwise.
//!
//! A request can be sent more than once: to another member, or again after there was no answer. And
//! each copy can be carried out late. Each one documents why that is harmless.

mod append;
mod charter;
mod create_cluster;
mod heartbeat;
mod lead;
mod members;
mod membership;
mod report;
mod tail;

use hyper_delay_etcd::{Client, GetResponse, KeyValue, Txn};

use super::{endpoints::HedgeDelay, error::EtcdError};
use crate::log::{LogAnswer, LogRequest};

/// Returns how soon a second member is asked.
pub(super) const fn pace(request: &LogRequest) -> HedgeDelay {
    match request {
        LogRequest::Announce { .. } | LogRequest::KeepAlive { .. } => HedgeDelay::Soon,
        // A copy that is late could undo what an operator has done since.
        LogRequest::ChangeAddress(_) => HedgeDelay::Never,
        LogRequest::Join(_) | LogRequest::Remove(_) => HedgeDelay::Never,
        _ => HedgeDelay::Late,
    }
}

/// Asks one member of etcd.
pub(super) async fn carry_out(
    client: &Client,
    request: &LogRequest,
) -> Result<LogAnswer, EtcdError> {
    match request {
        LogRequest::Announce {
            member,
            lease,
            ttl,
            replaces: over,
        } => heartbeat::announce(client, member, *lease, *ttl, *over).await,
        LogRequest::KeepAlive {
            member,
            lease,
            ttl,
            missing_links,
        } => heartbeat::keep_alive(client, member, *lease, *ttl, missing_links).await,
        LogRequest::Leave { node, lease } => heartbeat::leave(client, node, *lease).await,
        LogRequest::Lead {
            shard,
            lease,
            member,
            takeover: over,
        } => lead::lead(client, *shard, *lease, member, over.as_ref()).await,
        LogRequest::Resign(fence) => lead::resign(client, *fence).await,
        LogRequest::Append { fence, seq, entry } => {
            append::append(client, *fence, *seq, entry).await
        }
        LogRequest::Tail { shard, from, node } => tail::tail(client, *shard, *from, node).await,
        LogRequest::First { shard, from } => tail::first(client, *shard, *from).await,
        LogRequest::Trim { shard, from, below } => {
            append::trim(client, *shard, *from, *below).await
        }
        LogRequest::Report {
            shard,
            node,
            lease,
            synced,
        } => report::report(client, *shard, node, *lease, *synced).await,
        LogRequest::Reports(shard) => report::reports(client, *shard).await,
        LogRequest::CreateCluster(charter) => {
            create_cluster::create_cluster(client, *charter).await
        }
        LogRequest::Charter => Ok(LogAnswer::Charter(charter::charter(client).await?)),
        LogRequest::Join(member) => membership::join(client, member).await,
        LogRequest::ChangeAddress(member) => members::relocate(client, member).await,
        LogRequest::Remove(node) => membership::remove(client, node).await,
        LogRequest::Members => members::members(client).await,
    }
}

/// The answer to a transaction: its reads, in order.
struct TxnAnswer {
    succeeded: bool,
    revision: u64,
    reads: std::vec::IntoIter<GetResponse>,
}

impl TxnAnswer {
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
