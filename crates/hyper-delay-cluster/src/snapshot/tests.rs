//! Snapshots as bytes, and the stores that they become.

use std::sync::Arc;

use super::{NotFilled, SnapshotRequest, fill};
use crate::{Charter, ShardId, entry::Change, replica::Replica};
use hyper_delay_archive::backup::Stream;
use hyper_delay_store::{Batch, ReadStore, Room, Space, Store as _, fake::Fake, record::key};

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
        0 => Change::Clear(Space::Tasks),
        _ => Change::Writes(batch),
    };
    let entry = replica.next(1, seq, seq, &mut change);
    replica.apply_own(seq, &entry, change).unwrap();
    entry.bytes
}

/// A replica that has synced some of its entries.
struct Giver {
    replica: Replica<Fake>,
    entries: Vec<Vec<u8>>,
}

impl Giver {
    fn new(synced: u64, applied: u64) -> Self {
        let mut replica = Replica::open(Arc::default(), CHARTER, SHARD).unwrap();
        let mut entries = Vec::new();
        for seq in 1..=applied {
            entries.push(apply(&mut replica, seq));
            if seq == synced {
                replica.persisting().run().unwrap();
            }
        }
        Self { replica, entries }
    }

    fn snapshot(&self) -> Vec<u8> {
        bytes(&**self.replica.store())
    }
}

fn bytes(store: &impl ReadStore) -> Vec<u8> {
    let mut stream = Stream::begin(store.snapshot().unwrap(), 7);
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
        let giver = Giver::new(synced, 12);
        let store = Fake::default();
        fill(&store, &*giver.snapshot(), wanted(synced), 0).unwrap();
        // All of it is on the disk.
        let store = Arc::new(store.power_loss(0));
        let mut replica = Replica::open(store.clone(), CHARTER, SHARD).unwrap();
        assert_eq!(replica.applied().seq, synced);
        for seq in synced + 1..=12 {
            let entry = &giver.entries[usize::try_from(seq - 1).unwrap()];
            replica.apply(seq, entry, Room::AMPLE).unwrap();
        }
        assert!(
            store.contents_but(Space::Meta, key::SYNCED)
                == giver.replica.store().contents_but(Space::Meta, key::SYNCED)
        );
    }
}

#[test]
fn the_snapshot_of_a_node_that_has_just_started_is_right_too() {
    let giver = Giver::new(5, 12);
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..50 {
        let disk = giver.replica.store();
        let disk = disk.power_loss_by_space(|unsynced| random.usize(0..=unsynced));
        let store = Arc::new(Fake::default());
        fill(&*store, &*bytes(&disk), wanted(5), 0).unwrap();
        let mut replica = Replica::open(store.clone(), CHARTER, SHARD).unwrap();
        for (entry, seq) in giver.entries[5..].iter().zip(6..) {
            replica.apply(seq, entry, Room::AMPLE).unwrap();
        }
        assert!(
            store.contents_but(Space::Meta, key::SYNCED)
                == giver.replica.store().contents_but(Space::Meta, key::SYNCED)
        );
    }
}

#[test]
fn a_snapshot_that_is_too_old_or_of_another_shard_is_refused() {
    let snapshot = Giver::new(5, 6).snapshot();
    let into = |wanted| fill(&Fake::default(), &*snapshot, wanted, 0).unwrap_err();
    let error = into(wanted(6));
    assert!(matches!(
        error,
        NotFilled::TooOld {
            synced: 5,
            least: 6
        }
    ));
    let (charter, mut of) = wanted(5);
    let cluster = charter.cluster + 1;
    let error = into((Charter { cluster, ..charter }, of));
    assert!(matches!(error, NotFilled::Foreign { .. }), "{error}");
    of.shard = ShardId(0);
    let error = into((charter, of));
    assert!(matches!(error, NotFilled::Foreign { .. }), "{error}");
    let nothing = Giver::new(0, 3).snapshot();
    let error = fill(&Fake::default(), &*nothing, wanted(1), 0).unwrap_err();
    assert!(matches!(error, NotFilled::TooOld { synced: 0, .. }));
}

#[test]
fn a_damaged_or_cut_snapshot_leaves_a_store_at_the_beginning() {
    let snapshot = Giver::new(5, 6).snapshot();
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
    let snapshot = Giver::new(5, 6).snapshot();
    for syncs in 0..2 {
        let store = Fake::default();
        store.power_fails_after(syncs);
        let error = fill(&store, &*snapshot, wanted(5), 0).unwrap_err();
        assert!(matches!(error, NotFilled::Store(_)), "{error}");
        assert!(store.power_loss(0).sync().is_ok());
        assert_eq!(store.power_loss(0).all(Space::Meta), []);
    }
}

#[test]
fn a_snapshot_for_which_there_is_no_room_is_given_up() {
    const KEPT: u64 = 1 << 30;
    let snapshot = Giver::new(5, 6).snapshot();
    let into = |room| {
        let store = Fake::default();
        store.room_is(room);
        (fill(&store, &*snapshot, wanted(5), KEPT), store)
    };
    for room in [Room::none(), Room::for_new_tasks(KEPT)] {
        let (filled, store) = into(room);
        let error = filled.unwrap_err();
        assert!(matches!(error, NotFilled::NoRoom), "{error}");
        assert_eq!(store.all(Space::Tasks), []);
    }
    into(Room::for_new_tasks(KEPT + (1 << 20))).0.unwrap();
    into(Room::AMPLE).0.unwrap();
}
