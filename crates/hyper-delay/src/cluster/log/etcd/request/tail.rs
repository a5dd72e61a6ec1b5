//! Reading a journal. It changes nothing, so it can be repeated.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use etcd_client::{GetOptions, KeyValue, KvClient, Txn, TxnOp};

use super::Done;
use crate::cluster::{
    ShardId,
    log::{
        Answer, NodeName, Tail,
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
    kv: &mut KvClient,
    shard: ShardId,
    from: u64,
    node: &NodeName,
) -> Result<Answer, EtcdError> {
    let place = match from {
        u64::MAX => key::journal(shard),
        _ => key::entry(shard, from.saturating_sub(1)),
    };
    let txn = Txn::new().and_then([
        TxnOp::get(key::lead(shard), None),
        TxnOp::get(key::ALIVE, Some(GetOptions::new().with_prefix())),
        TxnOp::get(key::report(shard, node), None),
        TxnOp::get(place, Some(counted(shard))),
        TxnOp::get(key::entry(shard, from), Some(part(shard, from, ENTRIES))),
    ]);
    let begun = Instant::now();
    let mut done = Done::run(kv, txn).await?;
    let (leader, alive, reported) = (done.read_one()?, done.read()?, done.read_one()?);
    let mut counted = done.read_counted()?;
    let mut entries = Entries::default();
    entries.add(done.read()?)?;
    if counted.0.is_empty() {
        counted = whole(kv, shard, done.revision).await?;
    }
    let (first, count) = counted;
    let Some(first) = first.first() else {
        return Err(EtcdError::Missing(key::entry(shard, 0)));
    };
    let first = value::seq(first)?;
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
        let part = part(shard, next, page).with_revision(done.revision);
        let read = kv.get(key::entry(shard, next), Some(part)).await;
        match read.map_err(EtcdError::from) {
            Ok(mut read) => entries.add(read.take_kvs())?,
            Err(error) if error.is_too_large() && page > ENTRIES => entries.largest = usize::MAX,
            // etcd keeps old revisions for a while. What is there is of that moment.
            Err(error) if error.is_compacted() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::Tail(Tail {
        led: leader
            .map(|leader| value::led(&leader, &alive))
            .transpose()?,
        first,
        last,
        reported: match &reported {
            Some(reported) => Some(value::reported(reported)?.1),
            None => None,
        },
        entries: entries.entries,
    }))
}

/// Returns the options of a read of the key of one entry, and of the number of all that follow.
fn counted(shard: ShardId) -> GetOptions {
    let one = GetOptions::new().with_range(key::journal_end(shard));
    one.with_limit(1).with_keys_only()
}

/// Returns the key of the first entry of a journal at a revision, and the number of its entries.
async fn whole(
    kv: &mut KvClient,
    shard: ShardId,
    revision: i64,
) -> Result<(Vec<KeyValue>, u64), EtcdError> {
    let options = counted(shard).with_revision(revision);
    let mut read = kv.get(key::journal(shard), Some(options)).await?;
    Ok((read.take_kvs(), read.count().cast_unsigned()))
}

pub(super) async fn first(
    kv: &mut KvClient,
    shard: ShardId,
    from: u64,
) -> Result<Answer, EtcdError> {
    let one = GetOptions::new().with_range(key::journal_end(shard));
    let one = one.with_limit(1);
    let mut read = kv.get(key::entry(shard, from), Some(one)).await?;
    let read = read.take_kvs().pop();
    let first = read.ok_or_else(|| EtcdError::Missing(key::entry(shard, 0)))?;
    let seq = value::seq(&first)?;
    Ok(Answer::First(seq, first.into_key_value().1.into()))
}

/// Returns the options of a read of some entries from a place on. It names no places beyond what it
/// may return: etcd 3.4 looks at all places of a range, whatever its limit is.
fn part(shard: ShardId, from: u64, entries: u64) -> GetOptions {
    GetOptions::new().with_range(match from.checked_add(entries) {
        Some(end) => key::entry(shard, end),
        None => key::journal_end(shard),
    })
}

/// Entries that were read.
#[derive(Default)]
struct Entries {
    entries: Vec<(u64, Arc<[u8]>)>,
    bytes: usize,
    /// Bytes of the largest one.
    largest: usize,
}

impl Entries {
    fn add(&mut self, read: Vec<KeyValue>) -> Result<(), EtcdError> {
        for kv in read {
            let seq = value::seq(&kv)?;
            if let Some((before, _)) = self.entries.last()
                && seq != before + 1
            {
                return Err(EtcdError::value(&kv, GAP));
            }
            let bytes = kv.into_key_value().1;
            self.bytes += bytes.len();
            self.largest = self.largest.max(bytes.len());
            self.entries.push((seq, bytes.into()));
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
