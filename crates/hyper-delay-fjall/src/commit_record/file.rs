use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    CommitRecord,
    slot::{self, LENGTH},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::commits::file";

/// The name of the file in a data directory.
const FILE_NAME: &str = "commits";

/// The name of the file until it is complete.
const UNFINISHED_NAME: &str = "commits.new";

/// The position of the second slot: in a different disk block than the first.
const SECOND_SLOT_AT: u64 = 4096;

/// The time between two syncs.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The file with the commit record, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFileState {
    /// No file.
    Missing,
    /// A file without a readable slot.
    Unreadable,
    /// A file that a newer server wrote, with its version.
    Newer(u64),
    /// The newest readable slot.
    Read(CommitRecord),
}

/// The file, open for writing.
#[derive(Debug)]
pub struct CommitFile {
    shared: Arc<SharedFile>,
    turn: u64,
    syncs: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedFile {
    file: File,
    /// Whether a slot was written since the last sync began.
    is_dirty: AtomicBool,
    is_closed: AtomicBool,
}

impl CommitFile {
    /// Returns the file of the record of a data directory.
    #[must_use]
    pub fn path(directory: &Path) -> PathBuf {
        directory.join(FILE_NAME)
    }

    /// Reads the record of a data directory. Logs a damaged slot.
    pub(crate) fn read(directory: &Path) -> io::Result<CommitFileState> {
        let (found, damaged_slot) = Self::read_slots(directory)?;
        if damaged_slot {
            tracing::warn!(
                target: TARGET,
                "one of the two slots of the commit record is damaged; the other is used",
            );
        }
        Ok(found)
    }

    /// Reads the record of a data directory. Returns the record and whether one of its two slots is
    /// damaged.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn read_slots(directory: &Path) -> io::Result<(CommitFileState, bool)> {
        let bytes = match fs::read(Self::path(directory)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((CommitFileState::Missing, false));
            }
            Err(error) => return Err(error),
        };
        let second = bytes.get(SECOND_SLOT_AT as usize..).unwrap_or_default();
        let slots = [slot::decode(&bytes), slot::decode(second)];
        let readable = slots.iter().flatten().count();
        let newest = slots.into_iter().flatten().max_by_key(|(turn, _)| *turn);
        Ok(match newest {
            None => {
                let mut newer = [&*bytes, second]
                    .into_iter()
                    .filter_map(slot::newer_version);
                (
                    newer
                        .next()
                        .map_or(CommitFileState::Unreadable, CommitFileState::Newer),
                    false,
                )
            }
            Some((_, commits)) => (CommitFileState::Read(commits), readable == 1),
        })
    }

    /// Replaces the file by a new one with this record in both slots, and syncs it.
    pub(crate) fn create(directory: &Path, commits: &CommitRecord) -> io::Result<Self> {
        let unfinished = directory.join(UNFINISHED_NAME);
        let file = File::create(&unfinished)?;
        // The rest of each block is zero, like a sector that was never written.
        file.set_len(2 * SECOND_SLOT_AT)?;
        let shared = Arc::new(SharedFile {
            file,
            is_dirty: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        });
        let mut made = Self {
            shared: shared.clone(),
            turn: 0,
            syncs: None,
        };
        made.write_slot(commits)?;
        made.write_slot(commits)?;
        shared.file.sync_all()?;
        fs::rename(&unfinished, Self::path(directory))?;
        crate::data_directory::sync(directory)?;
        let syncs = thread::Builder::new().name("commit-record".to_owned());
        made.syncs = Some(syncs.spawn(move || shared.sync_while_open())?);
        Ok(made)
    }

    /// Writes the record to the next slot. It survives the end of the process at once, and a power
    /// failure after about a second.
    pub(crate) fn write(&mut self, commits: &CommitRecord) -> io::Result<()> {
        self.write_slot(commits)?;
        if !self.shared.is_dirty.swap(true, Ordering::AcqRel)
            && let Some(syncs) = &self.syncs
        {
            syncs.thread().unpark();
        }
        Ok(())
    }

    /// Writes the record to both slots and syncs each.
    pub(crate) fn write_through(&mut self, commits: &CommitRecord) -> io::Result<()> {
        for _ in 0..2 {
            self.write_slot(commits)?;
            self.sync()?;
        }
        Ok(())
    }

    /// Syncs the file to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.shared.file.sync_data()
    }

    fn write_slot(&mut self, commits: &CommitRecord) -> io::Result<()> {
        self.turn += 1;
        let slot: [u8; LENGTH] = slot::encode(self.turn, commits);
        write_at(&self.shared.file, &slot, self.turn % 2 * SECOND_SLOT_AT)
    }
}

impl SharedFile {
    fn sync_while_open(&self) {
        while !self.is_closed.load(Ordering::Acquire) {
            if !self.is_dirty.load(Ordering::Acquire) {
                thread::park();
                continue;
            }
            self.wait();
            // Before the sync, because a slot that is written during it needs another one.
            self.is_dirty.store(false, Ordering::Release);
            if let Err(error) = self.file.sync_data() {
                tracing::error!(target: TARGET, %error, "the commit record could not be synced");
            }
        }
    }

    /// Waits until the next sync is due or the file is closed.
    fn wait(&self) {
        let begun = Instant::now();
        while !self.is_closed.load(Ordering::Acquire) {
            let left = SYNC_INTERVAL.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }
}

impl Drop for CommitFile {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        if let Some(syncs) = self.syncs.take() {
            syncs.thread().unpark();
            let _ = syncs.join();
        }
        if let Err(error) = self.sync() {
            tracing::error!(target: TARGET, %error, "the commit record could not be synced");
        }
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.seek(io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}
