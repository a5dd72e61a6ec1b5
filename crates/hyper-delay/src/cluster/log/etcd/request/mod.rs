//! What each request asks of one member of etcd: one transaction, unless it says otherwise.
//!
//! A request can be sent more than once: to another member, or again after there was no answer. And
//! each copy can be carried out late. So each one says why that does no harm.

mod append;
mod charter;
#[cfg(any(feature = "cli", feature = "internals", test))]
mod found;
mod lead;
mod lease;
mod members;
#[cfg(any(feature = "cli", test))]
mod membership;
mod report;
mod tail;

use etcd_client::{Client, GetResponse, KeyValue, KvClient, Txn, TxnOpResponse, TxnResponse};

use super::{endpoints::Pace, error::EtcdError};
use crate::cluster::log::{Answer, Request};

/// Returns how soon a further member is asked.
pub(super) const fn pace(request: &Request) -> Pace {
    match request {
        Request::Announce { .. } | Request::KeepAlive { .. } => Pace::Soon,
        // A copy that is late could undo what an operator has done since.
        Request::Move(_) => Pace::Never,
        #[cfg(any(feature = "cli", test))]
        Request::Join(_) | Request::Remove(_) => Pace::Never,
        _ => Pace::Late,
    }
}

/// Asks one member of etcd.
pub(super) async fn carry_out(client: Client, request: &Request) -> Result<Answer, EtcdError> {
    let mut kv = client.kv_client();
    match request {
        Request::Announce {
            member,
            lease,
            ttl,
            over,
        } => lease::announce(&mut kv, member, *lease, *ttl, *over).await,
        Request::KeepAlive { node, lease } => lease::keep_alive(&mut kv, node, *lease).await,
        Request::Leave { node, lease } => lease::leave(&mut kv, node, *lease).await,
        Request::Lead {
            shard,
            lease,
            member,
            over,
        } => lead::lead(&mut kv, *shard, *lease, member, over.as_ref()).await,
        Request::Resign(fence) => lead::resign(&mut kv, *fence).await,
        Request::Append { fence, seq, entry } => append::append(&mut kv, *fence, *seq, entry).await,
        Request::Tail { shard, from, node } => tail::tail(&mut kv, *shard, *from, node).await,
        Request::First { shard, from } => tail::first(&mut kv, *shard, *from).await,
        Request::Trim { shard, from, below } => append::trim(&mut kv, *shard, *from, *below).await,
        Request::Report {
            shard,
            node,
            lease,
            synced,
        } => report::report(&mut kv, *shard, node, *lease, *synced).await,
        Request::Reports(shard) => report::reports(&mut kv, *shard).await,
        #[cfg(any(feature = "cli", feature = "internals", test))]
        Request::Found(charter) => found::found(&mut kv, *charter).await,
        Request::Charter => Ok(Answer::Charter(charter::charter(&mut kv).await?)),
        #[cfg(any(feature = "cli", test))]
        Request::Join(member) => membership::join(&mut kv, member).await,
        Request::Move(member) => members::relocate(&mut kv, member).await,
        #[cfg(any(feature = "cli", test))]
        Request::Remove(node) => membership::remove(&mut kv, node).await,
        Request::Members => members::members(&mut kv).await,
    }
}

/// The answer to a transaction: its reads, in order.
struct Done {
    succeeded: bool,
    revision: i64,
    reads: std::vec::IntoIter<GetResponse>,
}

impl Done {
    /// Carries out a transaction.
    async fn run(kv: &mut KvClient, txn: Txn) -> Result<Self, EtcdError> {
        let answer: TxnResponse = kv.txn(txn).await?;
        let header = answer.header().ok_or(EtcdError::Incomplete("a header"))?;
        let reads = answer.op_responses().into_iter().filter_map(|op| match op {
            TxnOpResponse::Get(read) => Some(read),
            _ => None,
        });
        let reads: Vec<_> = reads.collect();
        Ok(Self {
            succeeded: answer.succeeded(),
            revision: header.revision(),
            reads: reads.into_iter(),
        })
    }

    /// Returns the result of the next read.
    fn read(&mut self) -> Result<Vec<KeyValue>, EtcdError> {
        Ok(self.read_counted()?.0)
    }

    /// Returns the result of the next read, and how many keys there are without its limit.
    fn read_counted(&mut self) -> Result<(Vec<KeyValue>, u64), EtcdError> {
        let read = self.reads.next();
        let mut read = read.ok_or(EtcdError::Incomplete("the result of a read"))?;
        Ok((read.take_kvs(), read.count().cast_unsigned()))
    }

    /// Returns the result of the next read, which is of one key.
    fn read_one(&mut self) -> Result<Option<KeyValue>, EtcdError> {
        Ok(self.read()?.pop())
    }
}
