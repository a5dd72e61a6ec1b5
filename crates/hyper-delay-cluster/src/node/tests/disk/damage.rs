//! Damage of each kind of file: the replica is whole, or begins at nothing.

use std::{fs, path::Path};

use super::{Disk, Entries, rows};

type Damage = (&'static str, fn(&Path, &mut fastrand::Rng));

const DAMAGES: [Damage; 4] = [
    ("deleted", |path, _| fs::remove_file(path).unwrap()),
    ("emptied", |path, _| fs::write(path, b"").unwrap()),
    ("cut", |path, random| {
        let bytes = fs::read(path).unwrap();
        let length = random.usize(0..=bytes.len());
        fs::write(path, &bytes[..length]).unwrap();
    }),
    ("flipped", |path, random| {
        let mut bytes = fs::read(path).unwrap();
        if !bytes.is_empty() {
            let at = random.usize(0..bytes.len());
            bytes[at] ^= 1 << random.u8(0..8);
        }
        fs::write(path, bytes).unwrap();
    }),
];

#[test]
fn a_damaged_replica_is_moved_aside_and_begins_at_nothing() {
    let entries = Entries::new(120);
    let disk = Disk::new();
    let (directory, mut replica) = disk.open();
    for (entry, seq) in entries.entries.iter().zip(1..) {
        replica
            .apply(seq, entry, hyper_delay_store::DiskSpace::UNLIMITED)
            .unwrap();
        if seq == 60 {
            replica.store().flush_all();
        }
    }
    replica.prepare_sync().run().unwrap();
    drop((replica, directory));

    let (mut whole, mut begun_anew) = (0, 0);
    let mut random = fastrand::Rng::with_seed(7);
    for path in disk.files() {
        let name = path.strip_prefix(disk.root()).unwrap();
        for (kind, damage) in DAMAGES {
            let copy = disk.copy();
            damage(&copy.root().join(name), &mut random);
            let what = format!("{} {kind}", name.display());
            match is_whole(&copy, &entries, &what) {
                true => whole += 1,
                false => begun_anew += 1,
            }
        }
    }
    assert!(
        whole > 0 && begun_anew > 20,
        "{whole} whole, {begun_anew} begun anew"
    );
}

#[test]
fn a_lost_store_begins_at_nothing() {
    let entries = Entries::new(20);
    let disk = Disk::new();
    let (directory, mut replica) = disk.open();
    assert!(entries.complete(&mut replica));
    replica.prepare_sync().run().unwrap();
    drop((replica, directory));
    fs::remove_dir_all(disk.folder().join("store")).unwrap();
    assert!(!is_whole(&disk, &entries, "store deleted"));
}

/// Opens a damaged directory, and reads all of it. What is found to be damaged then is noted, and
/// the directory is opened again.
fn is_whole(disk: &Disk, entries: &Entries, what: &str) -> bool {
    let (directory, mut replica) = disk.open();
    if let Err(error) = rows(&**replica.store()) {
        assert!(error.is_corruption(), "{what}: {error}");
        directory.mark_damaged(0, &error.to_string()).unwrap();
        drop((replica, directory));
        let again = disk.open();
        assert_eq!(again.1.applied().seq, 0, "{what}");
        return is_begun_anew(disk, entries, again.1, what);
    }
    if replica.applied().seq == 0 {
        return is_begun_anew(disk, entries, replica, what);
    }
    assert_eq!(replica.applied().seq, 120, "{what}");
    assert!(entries.complete(&mut replica), "{what}: silently damaged");
    assert_eq!(disk.asides().len(), 0, "{what}");
    true
}

fn is_begun_anew(
    disk: &Disk,
    entries: &Entries,
    mut replica: super::Replica<super::Embedded>,
    what: &str,
) -> bool {
    assert_eq!(rows(&**replica.store()).unwrap(), [], "{what}");
    let asides = disk.asides();
    assert_eq!(asides.len(), 1, "{what}");
    assert!(asides[0].join("0").is_dir(), "{what}");
    assert!(entries.complete(&mut replica), "{what}");
    false
}
