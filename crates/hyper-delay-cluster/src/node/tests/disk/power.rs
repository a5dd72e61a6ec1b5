//! The end of the power: of what was not synced, any part can be missing.

use std::fs;

use super::{Disk, Entries};

#[test]
fn an_unsynced_tail_that_is_lost_is_no_damage() {
    const ENTRIES: u64 = 60;
    let entries = Entries::new(ENTRIES);
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let disk = Disk::new();
        let journal = disk.folder().join("store/0.jnl");
        let (directory, mut replica) = disk.open();
        let synced = random.u64(1..ENTRIES);
        let mut length = 0;
        for (entry, seq) in entries.entries.iter().zip(1..) {
            replica
                .apply(seq, entry, hyper_delay_store::DiskSpace::UNLIMITED)
                .unwrap();
            if seq == synced {
                assert_eq!(replica.prepare_sync().run().unwrap(), synced);
                length = super::JournalFile::read(&journal).unwrap().written().len();
            }
        }
        let copy = disk.copy();
        drop((replica, directory));

        let journal = copy.folder().join("store/0.jnl");
        let mut bytes = fs::read(&journal).unwrap();
        assert!(length > 0 && bytes.len() > length);
        if random.bool() {
            bytes.truncate(random.usize(length..=bytes.len()));
        }
        for _ in 0..random.usize(0..3) {
            let from = random.usize(length..=bytes.len());
            let to = random.usize(from..=bytes.len());
            bytes[from..to].fill(0);
        }
        fs::write(&journal, bytes).unwrap();

        let (_directory, mut replica) = copy.open();
        assert_eq!(copy.asides().len(), 0, "seed {seed}");
        assert_eq!(replica.applied().seq, synced, "seed {seed}");
        assert!(entries.complete(&mut replica), "seed {seed}");
    }
}
