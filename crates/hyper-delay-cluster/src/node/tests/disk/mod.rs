//! The stores of a node after the end of its process, of the power, and of parts of its disk.

mod damage;
mod kill;
mod owner;
mod power;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;

use crate::{Charter, ShardId, entry::EntryChange, replica::Replica};
use hyper_delay_fjall::{Embedded, journal_file::JournalFile, node_directory::NodeDirectory};
use hyper_delay_store::{Batch, Space, Store, StoreError, fake::Fake, record::key};

const CHARTER: Charter = Charter {
    cluster: 1 << 90,
    shards: 8,
};

const SHARD: ShardId = ShardId(0);

type Rows = Vec<(usize, Vec<u8>, Vec<u8>)>;

/// A journal of which every prefix leads to other contents.
struct Entries {
    replica: Replica<Fake>,
    /// From place 1 on.
    entries: Vec<Vec<u8>>,
}

impl Entries {
    fn new(number: u64) -> Self {
        let replica = Replica::open(Arc::default(), CHARTER, SHARD).unwrap();
        let mut made = Self {
            replica,
            entries: Vec::new(),
        };
        for seq in 1..=number {
            let mut change = change(seq);
            let entry = made.replica.next(1, seq, seq, &mut change);
            made.replica.apply_own(seq, &entry, change).unwrap();
            made.entries.push(entry.bytes);
        }
        made
    }

    /// Applies what a replica lacks, and returns whether its contents are right then.
    fn complete(&self, replica: &mut Replica<Embedded>) -> bool {
        let from = usize::try_from(replica.applied().seq).unwrap();
        for (entry, seq) in self.entries[from..].iter().zip(replica.applied().seq + 1..) {
            replica
                .apply(seq, entry, hyper_delay_store::DiskSpace::UNLIMITED)
                .unwrap();
        }
        rows(&**replica.store()).unwrap() == rows(&**self.replica.store()).unwrap()
    }
}

fn change(seq: u64) -> EntryChange {
    if seq.is_multiple_of(97) {
        return EntryChange::Clear(Space::DoneEven);
    }
    let mut batch = Batch::new();
    let mut random = fastrand::Rng::with_seed(seq);
    let mut value = vec![0; random.usize(0..3_000)];
    random.fill(&mut value);
    batch.put(Space::Tasks, seq.to_be_bytes(), value);
    batch.put(Space::Names, (seq % 40).to_be_bytes(), seq.to_be_bytes());
    batch.put(Space::DoneEven, seq.to_be_bytes(), *b"done");
    batch.remove(Space::Tasks, random.u64(0..seq).to_be_bytes());
    EntryChange::Writes(batch)
}

/// Returns all rows, without what a replica notes for itself.
fn rows(store: &impl Store) -> Result<Rows, StoreError> {
    let rows = store.snapshot()?.rows.collect::<Result<Vec<_>, _>>()?;
    let rows = rows.into_iter();
    let rows = rows
        .filter(|(space, key, _)| *space as usize != Space::Meta as usize || **key != *key::SYNCED);
    Ok(rows
        .map(|(space, key, value)| (space as usize, key.to_vec(), value.to_vec()))
        .collect())
}

/// A data directory in memory, where syncs cost nothing, if there is one.
struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(directory.unwrap())
    }

    /// Copies a directory. The copy of an open one looks as if its process was killed, unless the
    /// library works in the background.
    fn copy(&self) -> Self {
        let copy = Self::new();
        for path in self.files() {
            let to = copy.root().join(path.strip_prefix(self.root()).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            match path.extension() {
                Some(extension) if extension == "jnl" => {
                    fs::write(to, JournalFile::read(&path).unwrap().written()).unwrap();
                }
                _ => drop(fs::copy(&path, to).unwrap()),
            }
        }
        copy
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// Returns the folder of the shard.
    fn folder(&self) -> PathBuf {
        self.root().join("shards/0")
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        walk(self.root(), &mut files);
        files.sort_unstable();
        files
    }

    fn open(&self) -> (NodeDirectory, Replica<Embedded>) {
        let directory = NodeDirectory::lock(self.root(), CHARTER.shards).unwrap();
        let store = directory.open(SHARD.0).unwrap();
        let replica = Replica::open(Arc::new(store), CHARTER, SHARD).unwrap();
        (directory, replica)
    }

    /// Returns the folders with damaged stores.
    fn asides(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root()).unwrap().map(|it| it.unwrap());
        let asides = entries.filter(|it| it.file_name().to_str().unwrap().starts_with("damaged-"));
        asides.map(|it| it.path()).collect()
    }
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => walk(&path, files),
            false => files.push(path),
        }
    }
}
