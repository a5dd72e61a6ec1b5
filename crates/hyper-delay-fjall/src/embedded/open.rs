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
    budget::Budget,
    create_spaces, open_spaces,
    progress::{Progress, number},
};
use crate::{
    Marker,
    aside::Aside,
    commits::{self, CommitFile, Commits, Found},
    damaged,
    data_directory::{DataDirectory, RESTORING, SHARDS, sync},
    disk::Disk,
    inspect::{Cure, Cut, Inspection, Loss},
    journal::Journal,
    library,
};
use hyper_delay_store::{
    Batch, Space, StoreError,
    record::{self, key},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::embedded::open";

/// How [`Embedded::open_with`] opens a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Opens the store also if acknowledged commits are missing. Default: false.
    pub accept_loss: bool,
    /// The number of stores that this process has open, which share its memory and its open files.
    /// Default: 1.
    pub stores: u16,
    /// Whether what a crash has left of an unsynced write is copied before it is cut off. Default:
    /// true.
    pub keeps_cuts: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            accept_loss: false,
            stores: 1,
            keeps_cuts: true,
        }
    }
}

/// Locks a data directory, which is created if it does not exist.
///
/// # Errors
///
/// If another process uses it, or it cannot be made.
pub fn lock(directory: &Path) -> Result<DataDirectory, StoreError> {
    DataDirectory::lock(directory).map_err(|error| unusable(directory, &error))
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
    let budget = Budget::shared_by(options.stores);
    let opening = Opening {
        directory,
        data: &data,
        options,
        budget,
    };
    // The reserve gives its room to the opening of the store.
    let disk = Disk::open(directory, data.store());
    let Opened {
        database,
        spaces,
        progress,
    } = opening.run()?;
    Ok(Embedded {
        database,
        spaces,
        budget,
        progress: Mutex::new(progress),
        disk,
        data,
    })
}

struct Opening<'a> {
    directory: &'a Path,
    data: &'a DataDirectory,
    options: OpenOptions,
    budget: Budget,
}

struct Opened {
    database: Database,
    spaces: Vec<Keyspace>,
    progress: Progress,
}

impl Opening<'_> {
    fn run(&self) -> Result<Opened, StoreError> {
        let record = self.io(CommitFile::read(self.directory))?;
        if let Found::Newer(version) = record {
            let error = StoreError::newer("open", commits::newer(version));
            return Err(error.in_folder(self.directory));
        }
        let has_store = self.io(self.data.has_store())?;
        let damaged = self.io(damaged::noted(self.directory, &self.data.store()))?;
        if !damaged.is_empty() {
            return Err(damaged::error("open", &damaged));
        }
        if !has_store && record == Found::Missing {
            let (database, spaces) = self.create()?;
            return self.begin(database, spaces, Commits::default());
        }
        let store = self.data.store();
        let inspection = if has_store {
            Inspection::of(&store, record)?
        } else {
            Inspection::of_nothing(&store, record)
        };
        let (loss, cure) = (inspection.loss(), inspection.cure());
        if let Some(loss) = &loss
            && (cure.is_err() || !self.options.accept_loss)
        {
            return Err(self.refuse(loss, cure.is_ok()));
        }
        let cure = cure?;
        let mut aside = None;
        let cured = self.io(self.carry_out(&cure, loss.is_some(), &mut aside));
        let opened = cured.and_then(|()| {
            self.open_cured(
                cure.replaces_store,
                inspection.contents(loss.is_some()),
                loss.is_some(),
            )
        });
        if opened.is_err()
            && let Some(aside) = &aside
        {
            self.io(aside.restore())?;
        }
        if let (Ok(_), Some(loss)) = (&opened, &loss) {
            tracing::warn!(target: TARGET, %loss, "the loss was accepted");
        }
        opened
    }

    /// Opens the store after the cure. If this fails, the store is closed again.
    fn open_cured(
        &self,
        is_new: bool,
        mut contents: Commits,
        is_loss: bool,
    ) -> Result<Opened, StoreError> {
        let (database, spaces) = if is_new {
            self.create()?
        } else {
            let store = self.data.store();
            self.io(ensure_journal(&store))?;
            let opened = open_spaces(&store, self.budget);
            opened.map_err(|error| failed(self.directory, error))?
        };
        if !is_new && let Some(loss) = check(&spaces, &contents)? {
            return Err(self.refuse(&loss, true));
        }
        if is_loss {
            // The mark must be on the disk before the new record: with that the next start sees no
            // loss.
            let marked = mark(&database, &spaces, &contents);
            contents = marked.map_err(|error| failed(self.directory, error))?;
        }
        self.begin(database, spaces, contents)
    }

    fn begin(
        &self,
        database: Database,
        spaces: Vec<Keyspace>,
        contents: Commits,
    ) -> Result<Opened, StoreError> {
        let progress = self.io(Progress::begin(self.directory, contents))?;
        Ok(Opened {
            database,
            spaces,
            progress,
        })
    }

    /// Creates a new store.
    fn create(&self) -> Result<(Database, Vec<Keyspace>), StoreError> {
        let budget = self.budget;
        let created = self.data.create(|store| create_spaces(store, budget));
        let opened = created.and_then(|()| open_spaces(&self.data.store(), budget));
        opened.map_err(|error| failed(self.directory, error))
    }

    /// Copies or moves the data that the store would cut off or delete, and cuts it off. Puts the
    /// folder with that data into `kept`, also if a step fails.
    fn carry_out(
        &self,
        cure: &Cure<'_>,
        is_loss: bool,
        kept: &mut Option<Aside>,
    ) -> io::Result<()> {
        if cure.cuts.is_empty() && cure.folders.is_empty() && !cure.replaces_store {
            return Ok(());
        }
        if !is_loss && !self.options.keeps_cuts {
            return cure.cuts.iter().try_for_each(|cut| Self::cut(cut, None));
        }
        let aside = kept.insert(if is_loss {
            Aside::of_accepted_loss(self.directory)?
        } else {
            Aside::of_cut(self.directory)?
        });
        let store = self.data.store();
        if cure.replaces_store {
            if store.try_exists()? {
                self.move_away(&store, aside)?;
            }
            return Ok(());
        }
        for folder in &cure.folders {
            self.move_away(folder, aside)?;
        }
        for cut in &cure.cuts {
            aside.copy(cut.journal, cut.written)?;
            Self::cut(cut, Some(aside))?;
        }
        Ok(())
    }

    /// Cuts off the end of a journal, of which there may be a copy.
    fn cut(cut: &Cut<'_>, copy: Option<&Aside>) -> io::Result<()> {
        let journal = File::options().write(true).open(cut.journal)?;
        journal.set_len(cut.kept)?;
        journal.sync_all()?;
        tracing::warn!(
            target: TARGET,
            journal = %cut.journal.display(),
            kept = cut.kept,
            bytes = cut.written - cut.kept,
            copy = copy.map(|aside| tracing::field::display(aside.folder().display())),
            "the end of a journal is not readable and was cut off",
        );
        Ok(())
    }

    fn move_away(&self, folder: &Path, aside: &mut Aside) -> io::Result<()> {
        aside.take(folder)?;
        tracing::warn!(
            target: TARGET,
            folder = %folder.display(),
            to = %aside.folder().display(),
            "a folder of the store cannot be used and was moved away",
        );
        Ok(())
    }

    /// Returns the error that names the loss and what to do. `can_accept` says whether the store
    /// can be opened without what is missing.
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
        result.map_err(|error| failed(self.directory, error.into()))
    }
}

/// Creates an empty journal if the store has none.
///
/// Without one the library takes the store for a new one and does not read the highest sequence
/// number of the tables. Later writes would have lower ones, and the tables would hide them.
fn ensure_journal(store: &Path) -> io::Result<()> {
    if Journal::list(store)?.is_empty() {
        File::create_new(store.join("0.jnl"))?.sync_all()?;
        sync(store)?;
    }
    Ok(())
}

/// Compares the last commit of each space of the open store with `contents`, which were computed
/// before it was opened.
fn check(spaces: &[Keyspace], contents: &Commits) -> Result<Option<Loss>, StoreError> {
    let mut loss = Loss::default();
    for (space, keyspace) in Space::ALL.into_iter().zip(spaces) {
        let failed = |error| library::error("read the marker", error).in_space(space);
        let marker = match keyspace.get(Marker::KEY).map_err(failed)? {
            Some(value) => Marker::decode(&value)?,
            None => Marker::default(),
        };
        loss.compare(space, marker.commit, contents.space(space).last);
    }
    Ok((!loss.is_empty()).then_some(loss))
}

/// Marks the store for mending, on the disk when this returns. Returns its contents with the mark.
fn mark(
    database: &Database,
    spaces: &[Keyspace],
    contents: &Commits,
) -> Result<Commits, fjall::Error> {
    let mut batch = Batch::new();
    batch.put(Space::Meta, key::MENDING, record::encode(&()));
    let (contents, markers) = number(contents, &batch);
    let mut writes = database.batch().durability(Some(PersistMode::SyncData));
    for (space, key, value) in batch.into_writes() {
        let value = value.expect("the batch removes nothing");
        writes.insert(&spaces[space as usize], key, value);
    }
    for (space, marker) in markers {
        writes.insert(&spaces[space as usize], Marker::KEY, marker);
    }
    writes.commit()?;
    Ok(contents)
}

/// Returns the error of a data directory that cannot be created or locked.
fn unusable(directory: &Path, error: &fjall::Error) -> StoreError {
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

fn failed(directory: &Path, error: fjall::Error) -> StoreError {
    library::error("open", error).in_folder(PathBuf::from(directory))
}
