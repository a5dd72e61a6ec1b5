//! Opens a store, or refuses to.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf, absolute},
    sync::Mutex,
};

use fjall::{Database, Keyspace, PersistMode};

use super::{
    Embedded,
    commit_tracker::{CommitTracker, number_commit},
    create_spaces,
    cut_journal::cut_journal,
    memory_budget::MemoryBudget,
    open_spaces,
};
use crate::{
    CommitMarker,
    commit_record::{self, CommitFile, CommitFileState, CommitRecord},
    damaged_tables,
    data_directory::{DataDirectory, RESTORING, SHARDS, sync},
    disk::DiskMonitor,
    fjall_error,
    inspect::{Inspection, Loss, RecoveryPlan},
    journal_file::JournalFile,
    quarantine::Quarantine,
};
use hyper_delay_store::{
    Batch, Space, StoreError,
    record::{self, key},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::embedded::open";

/// The options of [`Embedded::open_with`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Opens the store also if acknowledged commits are missing. Default: false.
    pub accept_loss: bool,
    /// The number of stores that this process has open, which share its memory and its open files.
    /// Default: 1.
    pub stores: u16,
    /// Whether the end of a journal, which a crash left of an unsynced write, is copied before it is
    /// cut off. Default: true.
    pub copies_cut_journals: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            accept_loss: false,
            stores: 1,
            copies_cut_journals: true,
        }
    }
}

/// Locks a data directory, which is created if it does not exist.
///
/// # Errors
///
/// If another process uses it, or it cannot be made.
pub fn lock(directory: &Path) -> Result<DataDirectory, StoreError> {
    DataDirectory::lock(directory).map_err(|error| directory_error(directory, &error))
}

pub(super) fn open(directory: &Path, options: OpenOptions) -> Result<Embedded, StoreError> {
    let data = lock(directory)?;
    if directory.join(RESTORING).exists() {
        let directory = directory.display();
        return Err(StoreError::directory(format!(
            "data_dir {directory} has what is left of a restore or import that was interrupted or \
             failed: make it again into this directory, or delete what is in it to begin without a \
             task"
        )));
    }
    if directory.join(SHARDS).exists() {
        let directory = directory.display();
        return Err(StoreError::directory(format!(
            "data_dir {directory} is that of a node of a cluster: start the server with the \
             configuration of that node, or set another data_dir"
        )));
    }
    let budget = MemoryBudget::shared_by(options.stores);
    let opener = StoreOpener {
        directory,
        data: &data,
        options,
        budget,
    };
    // On an almost full disk the reserve frees its space for the opening of the store.
    let disk = DiskMonitor::open(directory, data.store());
    let OpenedStore {
        database,
        spaces,
        commits,
    } = opener.run()?;
    Ok(Embedded {
        database,
        spaces,
        budget,
        commits: Mutex::new(commits),
        disk,
        data,
    })
}

struct StoreOpener<'a> {
    directory: &'a Path,
    data: &'a DataDirectory,
    options: OpenOptions,
    budget: MemoryBudget,
}

struct OpenedStore {
    database: Database,
    spaces: Vec<Keyspace>,
    commits: CommitTracker,
}

impl StoreOpener<'_> {
    fn run(&self) -> Result<OpenedStore, StoreError> {
        let record = self.io(CommitFile::read(self.directory))?;
        if let CommitFileState::Newer(version) = record {
            let error = StoreError::newer("open", commit_record::describe_newer(version));
            return Err(error.in_folder(self.directory));
        }
        let has_store = self.io(self.data.has_store())?;
        let damaged = self.io(damaged_tables::read_note(
            self.directory,
            &self.data.store(),
        ))?;
        if !damaged.is_empty() {
            return Err(damaged_tables::error("open", &damaged));
        }
        if !has_store && record == CommitFileState::Missing {
            let (database, spaces) = self.create()?;
            return self.begin_record(database, spaces, CommitRecord::default());
        }
        let store = self.data.store();
        let inspection = if has_store {
            Inspection::of(&store, record)?
        } else {
            Inspection::of_missing_store(&store, record)
        };
        let (loss, plan) = (inspection.loss(), inspection.recovery_plan());
        if let Some(loss) = &loss
            && (plan.is_err() || !self.options.accept_loss)
        {
            return Err(self.refuse(loss, plan.is_ok()));
        }
        let plan = plan?;
        let mut quarantine = None;
        let recovered = self.io(self.apply_recovery(&plan, loss.is_some(), &mut quarantine));
        let opened = recovered.and_then(|()| {
            self.open_recovered(
                plan.replaces_store,
                inspection.contents(loss.is_some()),
                loss.is_some(),
            )
        });
        if opened.is_err()
            && let Some(quarantine) = &quarantine
        {
            self.io(quarantine.restore())?;
        }
        if let (Ok(_), Some(loss)) = (&opened, &loss) {
            tracing::warn!(target: TARGET, %loss, "the loss was accepted");
        }
        opened
    }

    /// Opens the store after the recovery. If this fails, the store is closed again.
    fn open_recovered(
        &self,
        is_new: bool,
        mut contents: CommitRecord,
        is_loss: bool,
    ) -> Result<OpenedStore, StoreError> {
        let (database, spaces) = if is_new {
            self.create()?
        } else {
            let store = self.data.store();
            self.io(ensure_journal(&store))?;
            let opened = open_spaces(&store, self.budget);
            opened.map_err(|error| open_error(self.directory, error))?
        };
        if !is_new && let Some(loss) = check_markers(&spaces, &contents)? {
            return Err(self.refuse(&loss, true));
        }
        if is_loss {
            // The mark must be on the disk before the new record: with that the next start sees no
            // loss.
            let marked = mark_for_mending(&database, &spaces, &contents);
            contents = marked.map_err(|error| open_error(self.directory, error))?;
        }
        self.begin_record(database, spaces, contents)
    }

    fn begin_record(
        &self,
        database: Database,
        spaces: Vec<Keyspace>,
        contents: CommitRecord,
    ) -> Result<OpenedStore, StoreError> {
        let commits = self.io(CommitTracker::create(self.directory, contents))?;
        Ok(OpenedStore {
            database,
            spaces,
            commits,
        })
    }

    /// Creates a new store.
    fn create(&self) -> Result<(Database, Vec<Keyspace>), StoreError> {
        let budget = self.budget;
        let created = self.data.create(|store| create_spaces(store, budget));
        let opened = created.and_then(|()| open_spaces(&self.data.store(), budget));
        opened.map_err(|error| open_error(self.directory, error))
    }

    /// Copies or moves the data that the store would cut off or delete, and cuts it off. Sets
    /// `quarantine` to the folder with that data, also if a step fails.
    fn apply_recovery(
        &self,
        plan: &RecoveryPlan<'_>,
        is_loss: bool,
        quarantine: &mut Option<Quarantine>,
    ) -> io::Result<()> {
        if plan.cuts.is_empty() && plan.folders.is_empty() && !plan.replaces_store {
            return Ok(());
        }
        if !is_loss && !self.options.copies_cut_journals {
            return plan.cuts.iter().try_for_each(|cut| cut_journal(cut, None));
        }
        let quarantine = quarantine.insert(if is_loss {
            Quarantine::for_accepted_loss(self.directory)?
        } else {
            Quarantine::for_cut_journals(self.directory)?
        });
        let store = self.data.store();
        if plan.replaces_store {
            if store.try_exists()? {
                self.quarantine_folder(&store, quarantine)?;
            }
            return Ok(());
        }
        for folder in &plan.folders {
            self.quarantine_folder(folder, quarantine)?;
        }
        for cut in &plan.cuts {
            quarantine.copy_journal(cut.journal, cut.written)?;
            cut_journal(cut, Some(quarantine))?;
        }
        Ok(())
    }

    fn quarantine_folder(&self, folder: &Path, quarantine: &mut Quarantine) -> io::Result<()> {
        quarantine.move_in(folder)?;
        tracing::warn!(
            target: TARGET,
            folder = %folder.display(),
            to = %quarantine.folder().display(),
            "a folder of the store cannot be used and was moved away",
        );
        Ok(())
    }

    /// Returns the error that names the loss and the cure. `can_accept`: the store can be opened
    /// without the missing data.
    fn refuse(&self, loss: &Loss, can_accept: bool) -> StoreError {
        let directory = absolute(self.directory).unwrap_or_else(|_| self.directory.to_owned());
        let directory = directory.display();
        let accept = if can_accept {
            "with --accept-loss the server starts with what is left"
        } else {
            "the server starts only after a repair, also with --accept-loss"
        };
        StoreError::loss(
            format!("acknowledged data is missing from the data_dir {directory}: {loss}"),
            format!(
                "The store was not opened. `hyper-delay verify {directory}` shows what is damaged; \
                 `hyper-delay repair {directory} --to NEW` saves all that is readable, `hyper-delay \
                 export {directory}` prints it; {accept}"
            ),
        )
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| open_error(self.directory, error.into()))
    }
}

/// Creates an empty journal if the store has none.
///
/// Without one the library takes the store for a new one and does not read the highest sequence
/// number of the tables. Later writes would have lower ones, and the tables would hide them.
fn ensure_journal(store: &Path) -> io::Result<()> {
    if JournalFile::list(store)?.is_empty() {
        File::create_new(store.join("0.jnl"))?.sync_all()?;
        sync(store)?;
    }
    Ok(())
}

/// Compares the last commit of each space of the open store with `contents`, which were computed
/// before it was opened.
fn check_markers(spaces: &[Keyspace], contents: &CommitRecord) -> Result<Option<Loss>, StoreError> {
    let mut loss = Loss::default();
    for (space, keyspace) in Space::ALL.into_iter().zip(spaces) {
        let failed = |error| fjall_error::to_store_error("read the marker", error).in_space(space);
        let marker = match keyspace.get(CommitMarker::KEY).map_err(failed)? {
            Some(value) => CommitMarker::decode(&value)?,
            None => CommitMarker::default(),
        };
        loss.compare(space, marker.commit, contents.space(space).last);
    }
    Ok((!loss.is_empty()).then_some(loss))
}

/// Marks the store for mending, on the disk when this returns. Returns its contents with the mark.
fn mark_for_mending(
    database: &Database,
    spaces: &[Keyspace],
    contents: &CommitRecord,
) -> Result<CommitRecord, fjall::Error> {
    let mut batch = Batch::new();
    batch.put(Space::Meta, key::MENDING, record::encode(&()));
    let (contents, markers) = number_commit(contents, &batch);
    let mut writes = database.batch().durability(Some(PersistMode::SyncData));
    for (space, key, value) in batch.into_writes() {
        let value = value.expect("the batch removes nothing");
        writes.insert(&spaces[space as usize], key, value);
    }
    for (space, marker) in markers {
        writes.insert(&spaces[space as usize], CommitMarker::KEY, marker);
    }
    writes.commit()?;
    Ok(contents)
}

/// Returns the error of a data directory that cannot be created or locked.
fn directory_error(directory: &Path, error: &fjall::Error) -> StoreError {
    let directory = directory.display();
    StoreError::directory(match error {
        fjall::Error::Locked => format!(
            "data_dir {directory}: another process uses it; stop that process or set another \
             data_dir"
        ),
        fjall::Error::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            ) =>
        {
            format!("data_dir {directory} is a file, or is below one: set another data_dir")
        }
        fjall::Error::Io(error) => format!(
            "data_dir {directory} cannot be used: {error}; set another data_dir, or give the user \
             of the server access to this one"
        ),
        error => format!("data_dir {directory} cannot be used: {error}; set another data_dir"),
    })
}

fn open_error(directory: &Path, error: fjall::Error) -> StoreError {
    fjall_error::to_store_error("open", error).in_folder(PathBuf::from(directory))
}
