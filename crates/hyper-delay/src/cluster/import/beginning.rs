use crate::{
    cluster::{
        Charter, ShardId,
        entry::{Change, Encoded, Header},
        replica::{Applied, genesis},
    },
    store::Batch,
};

/// The entries that follow the first one of a journal after an import. They change nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The entries 1 and 2.
    pub(crate) entries: [Encoded; 2],
    /// How far a store is that was imported.
    pub(crate) applied: Applied,
}

impl Beginning {
    /// The place of the last of the entries.
    pub(crate) const LAST: u64 = 2;

    /// Returns the entry of a place.
    pub(crate) fn entry(&self, seq: u64) -> Option<&Encoded> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.entries.get(index)
    }

    /// Returns the entries for a shard with these contents.
    pub(super) fn of(charter: Charter, shard: ShardId, contents: u64) -> Self {
        let genesis = genesis(charter, shard);
        let header = Header {
            cluster: charter.cluster,
            shard,
            seq: 1,
            epoch: 0,
            nonce: contents,
            previous: genesis.hash,
            offset: genesis.bytes.len() as u64,
            now: 0,
            counted: (0, 0),
            clears: None,
        };
        let first = Change::Writes(Batch::new()).encode(header);
        let header = Header {
            seq: Self::LAST,
            previous: first.hash,
            offset: header.offset + first.bytes.len() as u64,
            ..header
        };
        let second = Change::Writes(Batch::new()).encode(header);
        Self {
            applied: Applied {
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
    use crate::{cluster::replica::Replica, store::fake::Fake};

    #[test]
    fn entries_follow_the_first_one_of_the_journal() {
        let charter = Charter {
            cluster: 7,
            shards: 3,
        };
        let shard = ShardId(2);
        let beginning = Beginning::of(charter, shard, 5);
        let mut replica = Replica::open(Arc::new(Fake::default()), charter, shard).unwrap();
        for (entry, seq) in beginning.entries.iter().zip(1..) {
            replica
                .apply(seq, &entry.bytes, crate::store::Room::AMPLE)
                .unwrap();
        }
        assert_eq!(replica.applied(), beginning.applied);
        assert_ne!(Beginning::of(charter, shard, 6).entries, beginning.entries);
    }
}
