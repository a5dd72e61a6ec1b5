use crate::{
    Charter, ShardId,
    entry::{EncodedEntry, EntryChange, EntryHash, EntryHeader},
    replica::{AppliedEntry, genesis},
};
use hyper_delay_store::Batch;

/// The entries that are put after the first one of a journal by an import. They change nothing, and
/// no replica applies them: entry 1 names no entry before it, so it follows nothing. Otherwise a
/// node that reads them before the journal is shortened would take itself for up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalStart {
    /// The entries 1 and 2.
    pub(crate) entries: [EncodedEntry; 2],
    /// The last entry that an imported store contains.
    pub(crate) applied: AppliedEntry,
}

/// The hash of no entry.
const NOTHING: EntryHash = 0;

impl JournalStart {
    /// The place of the last of the entries.
    pub(crate) const LAST: u64 = 2;

    /// Returns the entry of a place.
    pub(crate) fn entry(&self, seq: u64) -> Option<&EncodedEntry> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.entries.get(index)
    }

    /// Returns the entries for a shard with these contents.
    pub(super) fn of(charter: Charter, shard: ShardId, contents: u64) -> Self {
        let genesis = genesis(charter, shard);
        let header = EntryHeader {
            cluster: charter.cluster,
            shard,
            seq: 1,
            epoch: 0,
            nonce: contents,
            previous: NOTHING,
            offset: genesis.bytes.len() as u64,
            now: 0,
            counted: (0, 0),
            clears: None,
        };
        let first = EntryChange::Writes(Batch::new()).encode(header);
        let header = EntryHeader {
            seq: Self::LAST,
            previous: first.hash,
            offset: header.offset + first.bytes.len() as u64,
            ..header
        };
        let second = EntryChange::Writes(Batch::new()).encode(header);
        Self {
            applied: AppliedEntry {
                cluster: charter.cluster,
                shard,
                seq: Self::LAST,
                hash: second.hash,
                end: header.offset + second.bytes.len() as u64,
                now: 0,
            },
            entries: [first, second],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        entry,
        replica::{ApplyError, Replica},
    };
    use hyper_delay_store::{DiskSpace, fake::Fake};

    const CHARTER: Charter = Charter {
        cluster: 7,
        shards: 3,
    };
    const SHARD: ShardId = ShardId(2);

    #[test]
    fn replica_without_the_tasks_applies_none_of_the_entries() {
        let beginning = JournalStart::of(CHARTER, SHARD, 5);
        let mut replica = Replica::open(Arc::new(Fake::default()), CHARTER, SHARD).unwrap();
        let [first, second] = &beginning.entries;
        let error = replica
            .apply(1, &first.bytes, DiskSpace::UNLIMITED)
            .unwrap_err();
        assert!(matches!(error, ApplyError::Foreign { seq: 1 }), "{error}");
        let error = replica
            .apply(2, &second.bytes, DiskSpace::UNLIMITED)
            .unwrap_err();
        assert!(matches!(error, ApplyError::Gap { .. }), "{error}");
        assert_eq!(replica.applied().seq, 0);
    }

    #[test]
    fn imported_store_goes_on_after_the_entries() {
        let beginning = JournalStart::of(CHARTER, SHARD, 5);
        let headers = beginning
            .entries
            .each_ref()
            .map(|it| entry::header(&it.bytes).unwrap());
        let genesis = genesis(CHARTER, SHARD).bytes.len() as u64;
        let [first, second] = &beginning.entries;
        let lengths = [first, second].map(|it| it.bytes.len() as u64);
        assert_eq!(headers.map(|it| it.seq), [1, 2]);
        assert_eq!(headers.map(|it| it.offset), [genesis, genesis + lengths[0]]);
        assert_eq!(headers[1].previous, first.hash);
        let AppliedEntry { seq, hash, end, .. } = beginning.applied;
        let whole = genesis + lengths[0] + lengths[1];
        assert_eq!((seq, hash, end), (2, second.hash, whole));
        assert_ne!(
            JournalStart::of(CHARTER, SHARD, 6).entries,
            beginning.entries
        );
    }
}
