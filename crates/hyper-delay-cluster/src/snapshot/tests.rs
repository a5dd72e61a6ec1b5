//! Snapshots as bytes, and the stores that they become.

use std::sync::Arc;

use super::{FillError, SnapshotRequest, fill};
use crate::{Charter, ShardId, entry::EntryChange, replica::Replica};
use hyper_delay_archive::backup::BackupStream;
use hyper_delay_store::{Batch, DiskSpace, ReadStore, Space, Store as _, fake::Fake, record::key};

const CHARTER: Charter = Charter {
    cluster: 1 << 90,
    shards: 2,
};
const SHARD: ShardId = ShardId(1);

fn apply(replica: &mut Replica<Fake>, seq: u64) -> Vec<u8> {
    let mut batch = Batch::new();
    batch.put(Space::Tasks, (seq % 5).to_be_bytes(), seq.to_be_bytes());
    batch.remove(Space::Tasks, (seq % 3).to_be_bytes());
    let mut change = match seq % 7 {
        0 => EntryChange::Clear(Space::Tasks),
        _ => EntryChange::Writes(batch),
    };
    let entry = replica.next(1, seq, seq, &mut change);
    replica.apply_own(seq, &entry, change).unwrap();
    entry.bytes
}

/// A replica that has synced some of its entries.
struct ProviderFixture {
    replica: Replica<Fake>,
    entries: Vec<Vec<u8>>,
}

impl ProviderFixture {
    fn new(synced: u64, applied: u64) -> Self {
        let mut replica = Replica::open(Arc::default(), CHARTER, SHARD).unwrap();
        let mut entries = Vec::new();
        for seq in 1..=applied {
            entries.push(apply(&mut replica, seq));
            if seq == synced {
                replica.prepare_sync().run().unwrap();
            }
        }
        Self { replica, entries }
    }

    fn snapshot(&self) -> Vec<u8> {
        bytes(&**self.replica.store())
    }
}

fn bytes(store: &impl ReadStore) -> Vec<u8> {
    let mut stream = BackupStream::begin(store.snapshot().unwrap(), 7);
    let mut bytes = Vec::new();
    loop {
        let next = stream.next(1_000).unwrap();
        if next.is_empty() {
            return bytes;
        }
        bytes.extend(next);
    }
}

fn wanted(least: u64) -> (Charter, SnapshotRequest) {
    let shard = SHARD;
    (CHARTER, SnapshotRequest { shard, least })
}

#[test]
fn a_node_goes_on_with_the_journal_where_the_giver_had_synced() {
    for synced in 0..12 {
        let provider = ProviderFixture::new(synced, 12);
        let store = Fake::default();
        fill(&store, &*provider.snapshot(), wanted(synced), 0).unwrap();
        // All of it is on the disk.
        let store = Arc::new(store.power_loss(0));
        let mut replica = Replica::open(store.clone(), CHARTER, SHARD).unwrap();
        assert_eq!(replica.applied().seq, synced);
        for seq in synced + 1..=12 {
            let entry = &provider.entries[usize::try_from(seq - 1).unwrap()];
            replica.apply(seq, entry, DiskSpace::UNLIMITED).unwrap();
        }
        assert!(
            store.contents_without(Space::Meta, key::SYNCED)
                == provider
                    .replica
                    .store()
                    .contents_without(Space::Meta, key::SYNCED)
        );
    }
}

#[test]
fn the_snapshot_of_a_node_that_has_just_started_is_right_too() {
    let provider = ProviderFixture::new(5, 12);
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..50 {
        let disk = provider.replica.store();
        let disk = disk.power_loss_by_space(|unsynced| random.usize(0..=unsynced));
        let store = Arc::new(Fake::default());
        fill(&*store, &*bytes(&disk), wanted(5), 0).unwrap();
        let mut replica = Replica::open(store.clone(), CHARTER, SHARD).unwrap();
        for (entry, seq) in provider.entries[5..].iter().zip(6..) {
            replica.apply(seq, entry, DiskSpace::UNLIMITED).unwrap();
        }
        assert!(
            store.contents_without(Space::Meta, key::SYNCED)
                == provider
                    .replica
                    .store()
                    .contents_without(Space::Meta, key::SYNCED)
        );
    }
}

#[test]
fn a_snapshot_that_is_too_old_or_of_another_shard_is_refused() {
    let snapshot = ProviderFixture::new(5, 6).snapshot();
    let into = |wanted| fill(&Fake::default(), &*snapshot, wanted, 0).unwrap_err();
    let error = into(wanted(6));
    assert!(matches!(
        error,
        FillError::TooOld {
            synced: 5,
            least: 6
        }
    ));
    let (charter, mut of) = wanted(5);
    let cluster = charter.cluster + 1;
    let error = into((Charter { cluster, ..charter }, of));
    assert!(matches!(error, FillError::Foreign { .. }), "{error}");
    of.shard = ShardId(0);
    let error = into((charter, of));
    assert!(matches!(error, FillError::Foreign { .. }), "{error}");
    let nothing = ProviderFixture::new(0, 3).snapshot();
    let error = fill(&Fake::default(), &*nothing, wanted(1), 0).unwrap_err();
    assert!(matches!(error, FillError::TooOld { synced: 0, .. }));
}

#[test]
fn a_damaged_or_cut_snapshot_leaves_a_store_at_the_beginning() {
    let snapshot = ProviderFixture::new(5, 6).snapshot();
    let mut random = fastrand::Rng::with_seed(4);
    for at in 0..snapshot.len() {
        let mut flipped = snapshot.clone();
        flipped[at] ^= 1 << random.u8(0..8);
        for damaged in [&flipped, &snapshot[..at]] {
            let store = Fake::default();
            fill(&store, damaged, wanted(5), 0).unwrap_err();
            assert_eq!(store.get(Space::Meta, key::SYNCED).unwrap(), None);
        }
    }
}

#[test]
fn a_disk_that_fails_is_an_error() {
    let snapshot = ProviderFixture::new(5, 6).snapshot();
    for syncs in 0..2 {
        let store = Fake::default();
        store.fail_power_after(syncs);
        let error = fill(&store, &*snapshot, wanted(5), 0).unwrap_err();
        assert!(matches!(error, FillError::Store(_)), "{error}");
        assert!(store.power_loss(0).sync().is_ok());
        assert_eq!(store.power_loss(0).all(Space::Meta), []);
    }
}

#[test]
fn a_snapshot_for_which_there_is_no_room_is_given_up() {
    const KEPT: u64 = 1 << 30;
    let snapshot = ProviderFixture::new(5, 6).snapshot();
    let into = |disk_space| {
        let store = Fake::default();
        store.set_disk_space(disk_space);
        (fill(&store, &*snapshot, wanted(5), KEPT), store)
    };
    for disk_space in [DiskSpace::none(), DiskSpace::for_new_tasks(KEPT)] {
        let (filled, store) = into(disk_space);
        let error = filled.unwrap_err();
        assert!(matches!(error, FillError::NoRoom), "{error}");
        assert_eq!(store.all(Space::Tasks), []);
    }
    into(DiskSpace::for_new_tasks(KEPT + (1 << 20))).0.unwrap();
    into(DiskSpace::UNLIMITED).0.unwrap();
}
