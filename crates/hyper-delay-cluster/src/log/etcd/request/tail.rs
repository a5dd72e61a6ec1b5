//! Reading a journal. It changes nothing, so it can be repeated.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hyper_delay_etcd::{Client, Get, KeyValue, Keys, Txn};

use super::TxnAnswer;
use crate::{
    ShardId,
    log::{
        JournalTail, LogAnswer, NodeName,
        etcd::{error::EtcdError, key, value},
    },
};

/// The most entries in the first read, and after a read that was too large. etcd takes no entry of
/// more than 1.5 MiB, and the client no answer of more than 4 MiB.
const ENTRIES: u64 = 2;

/// The most entries in a later read, if those before were small.
const MOST_ENTRIES: u64 = 128;

/// Enough bytes for one answer: no further read begins.
const ENOUGH_BYTES: usize = 512 << 10;

/// Enough reads for one answer.
const MOST_READS: usize = 24;

/// After this time no further read begins: the answer has what is there, and must come before the
/// deadline of the request, a quarter of a lease.
const MOST_TIME: Duration = Duration::from_millis(100);

/// All reads are of the revision of the first one, so the answer is of one moment.
///
/// The last place follows from the number of entries, which have no gaps: to sort in descending
/// order, etcd reads them all. They are counted from the place before `from`, which is there as a
/// rule: until etcd compacts its history, a count looks at each key that was there once.
pub(super) async fn tail(
    client: &Client,
    shard: ShardId,
    from: u64,
    node: &NodeName,
) -> Result<LogAnswer, EtcdError> {
    let place = match from {
        u64::MAX => key::journal(shard),
        _ => key::entry(shard, from.saturating_sub(1)),
    };
    let txn = Txn::new()
        .then(Get::new(key::leader(shard)))
        .then(Get::new(Keys::prefix(key::ALIVE)))
        .then(Get::new(key::report(shard, node)))
        .then(count_from(shard, place))
        .then(read_part(shard, from, ENTRIES));
    let begun = Instant::now();
    let mut done = TxnAnswer::run(client, txn).await?;
    let (leader, alive, reported) = (done.read_one()?, done.read()?, done.read_one()?);
    let mut counted = done.read_counted()?;
    let mut entries = TailEntries::default();
    entries.add(done.read()?)?;
    if counted.0.is_empty() {
        counted = count_all(client, shard, done.revision).await?;
    }
    let (first, count) = counted;
    let Some(first) = first.first() else {
        return Err(EtcdError::Missing(key::entry(shard, 0)));
    };
    let first = value::decode_seq(first)?;
    let last = first.saturating_add(count - 1);
    let mut page = ENTRIES;
    for _ in 0..MOST_READS {
        let Some(next) = entries.next(from.max(first)).filter(|next| *next <= last) else {
            break;
        };
        if begun.elapsed() >= MOST_TIME {
            break;
        }
        page = entries.page(page);
        let part = read_part(shard, next, page).revision(done.revision);
        let read = client.get(part).await;
        match read.map_err(EtcdError::from) {
            Ok(read) => entries.add(read.into_kvs())?,
            Err(error) if error.is_too_large() && page > ENTRIES => entries.largest = usize::MAX,
            // etcd keeps old revisions for a while. What is there is of that moment.
            Err(error) if error.is_compacted() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(LogAnswer::Tail(JournalTail {
        leader: leader
            .map(|leader| value::decode_leader_and_heartbeat(&leader, &alive))
            .transpose()?,
        first,
        last,
        reported: match &reported {
            Some(reported) => Some(value::decode_report(reported)?.1),
            None => None,
        },
        entries: entries.entries,
    }))
}

/// Reads the key of the first entry from a place on, and the number of all from there on.
fn count_from(shard: ShardId, place: String) -> Get {
    let entries = Keys::range(place, key::journal_end(shard));
    Get::new(entries).limit(1).keys_only()
}

/// Returns the key of the first entry of a journal at a revision, and the number of its entries.
async fn count_all(
    client: &Client,
    shard: ShardId,
    revision: u64,
) -> Result<(Vec<KeyValue>, u64), EtcdError> {
    let all = count_from(shard, key::journal(shard));
    let read = client.get(all.revision(revision)).await?;
    let count = read.count();
    Ok((read.into_kvs(), count))
}

pub(super) async fn first(
    client: &Client,
    shard: ShardId,
    from: u64,
) -> Result<LogAnswer, EtcdError> {
    let entries = Keys::range(key::entry(shard, from), key::journal_end(shard));
    let read = client.get(Get::new(entries).limit(1)).await?;
    let read = read.into_kvs().pop();
    let first = read.ok_or_else(|| EtcdError::Missing(key::entry(shard, 0)))?;
    let seq = value::decode_seq(&first)?;
    Ok(LogAnswer::First(seq, first.value()[..].into()))
}

/// Reads some entries from a place on. It names no places beyond what it may return: etcd 3.4 looks
/// at all places of a range, whatever its limit is.
fn read_part(shard: ShardId, from: u64, entries: u64) -> Get {
    let end = match from.checked_add(entries) {
        Some(end) => key::entry(shard, end),
        None => key::journal_end(shard),
    };
    Get::new(Keys::range(key::entry(shard, from), end))
}

/// Entries that were read.
#[derive(Default)]
struct TailEntries {
    entries: Vec<(u64, Arc<[u8]>)>,
    bytes: usize,
    /// Bytes of the largest one.
    largest: usize,
}

impl TailEntries {
    fn add(&mut self, read: Vec<KeyValue>) -> Result<(), EtcdError> {
        for kv in read {
            let seq = value::decode_seq(&kv)?;
            if let Some((before, _)) = self.entries.last()
                && seq != before + 1
            {
                return Err(EtcdError::value(&kv, GAP));
            }
            let bytes = kv.value();
            self.bytes += bytes.len();
            self.largest = self.largest.max(bytes.len());
            self.entries.push((seq, bytes[..].into()));
        }
        Ok(())
    }

    /// Returns how many entries the next read asks for, after one of `last` entries: more and more,
    /// while they would be enough for an answer if all were as large as the largest one.
    fn page(&self, last: u64) -> u64 {
        let enough = ENOUGH_BYTES / self.largest.max(1);
        (4 * last).min(MOST_ENTRIES).min(enough as u64).max(ENTRIES)
    }

    /// Returns the place from which more is read, if more belongs in the answer, which begins with
    /// `first`.
    fn next(&self, first: u64) -> Option<u64> {
        match self.entries.last() {
            Some(_) if self.bytes >= ENOUGH_BYTES => None,
            Some((last, _)) => last.checked_add(1),
            None => Some(first),
        }
    }
}

const GAP: &str = "an entry before it is missing. Restore etcd from a backup, or move the data_dir \
                   of every node away and make the cluster anew";
