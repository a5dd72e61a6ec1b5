//! Reads the sorted files (tables) of each space before the store is opened.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use lsm_tree::{AbstractTree, AnyTree, Guard as _, SeqNo};

use crate::{CommitMarker, data_directory, files::CurrentFile, fjall_error};
use hyper_delay_store::{Bytes, Space, StoreError};

/// The tables of a space.
#[derive(Debug, Clone, Default)]
pub(super) struct SpaceTables {
    /// The name of its folder. 0 if the library will not open it.
    pub(super) keyspace: u64,
    /// The last commit in the tables.
    pub(super) marker: Option<CommitMarker>,
    /// The last sequence number in the tables. The library replays the journals after it.
    pub(super) seqno: Option<u64>,
}

/// A part of the store that cannot be opened without loss.
#[derive(Debug)]
pub(super) struct UnusablePart {
    pub(super) path: PathBuf,
    pub(super) extent: LossExtent,
    reason: String,
}

/// The extent of the loss if the store is opened nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossExtent {
    /// The whole store, of which no space is left.
    Store,
    /// The contents of a folder, which the library would delete.
    Folder,
    /// A space whose folder is missing.
    Space,
    /// Unknown: files without which the library does not open the store are missing or damaged.
    Part,
}

impl UnusablePart {
    fn new(path: impl Into<PathBuf>, extent: LossExtent, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            extent,
            reason: reason.into(),
        }
    }

    pub(super) fn missing_store(store: &Path) -> Self {
        Self::new(store, LossExtent::Store, "the folder is missing")
    }
}

impl fmt::Display for UnusablePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

/// The tables of all spaces, or `None` if no part of the store can be used, and the damage.
type TablesRead = (Option<[SpaceTables; Space::ALL.len()]>, Vec<UnusablePart>);

/// Reads the tables of all spaces. Deletes files that are not in the list of tables of their space,
/// as opening the store would, and changes nothing else.
pub(super) fn read(store: &Path) -> Result<TablesRead, StoreError> {
    let failed = |error: io::Error| StoreError::new("inspect", error).in_folder(store);
    let has_spaces = has_spaces(&store.join("keyspaces")).map_err(failed)?;
    let unusable = |path: &Path, reason: &str| {
        let extent = if has_spaces {
            LossExtent::Part
        } else {
            LossExtent::Store
        };
        (None, vec![UnusablePart::new(path, extent, reason)])
    };
    let version = store.join("version");
    if !version.try_exists().map_err(failed)? {
        return Ok(unusable(&version, "the file is missing"));
    }
    let format = fs::read(&version).map_err(failed)?;
    if let Some(newer) = data_directory::newer_format(&format) {
        let found = format!("the format of its files is {newer}, and this server reads 3");
        return Err(StoreError::newer("open", found).in_folder(version));
    }
    if format != data_directory::FORMAT {
        let reason = "the file does not name a format that this server reads";
        return Err(StoreError::damage("open", reason).in_folder(version));
    }
    let lock = store.join("lock");
    if !lock.try_exists().map_err(failed)? {
        let reason = "the file is missing; create an empty one";
        return Err(StoreError::damage("open", reason).in_folder(lock));
    }
    let keyspaces = store.join("keyspaces");
    let names = keyspaces.join("0");
    if let Err(reason) = check_version(&names).map_err(failed)? {
        return Ok(unusable(&names, &reason));
    }
    let folders = match named_folders(&keyspaces) {
        Ok(folders) => folders,
        Err(error) if error.is_damage() => {
            let reason = format!("the list of spaces: {}", error.reason());
            return Ok(unusable(&names, &reason));
        }
        Err(error) => return Err(error.in_folder(names)),
    };
    let mut tables: [SpaceTables; Space::ALL.len()] = Default::default();
    let mut has_folder = [false; Space::ALL.len()];
    let mut broken = Vec::new();
    for (keyspace, folder, space) in folders {
        let Some(space) = space else {
            let reason = "the folder belongs to no known space";
            broken.push(UnusablePart::new(folder, LossExtent::Folder, reason));
            continue;
        };
        has_folder[space as usize] = true;
        if let Err(reason) = check_version(&folder).map_err(failed)? {
            let reason = format!("space {}: {reason}", space.name());
            broken.push(UnusablePart::new(folder, LossExtent::Folder, reason));
            continue;
        }
        match SpaceTables::read(keyspace, &folder) {
            Ok(read) => tables[space as usize] = read,
            Err(error) if error.is_damage() => {
                let reason = format!("space {}: {}", space.name(), error.reason());
                broken.push(UnusablePart::new(folder, LossExtent::Part, reason));
            }
            Err(error) => return Err(error.in_space(space).in_folder(folder)),
        }
    }
    for space in Space::ALL {
        if !has_folder[space as usize] {
            let reason = format!("the folder of space {} is missing", space.name());
            broken.push(UnusablePart::new(&keyspaces, LossExtent::Space, reason));
        }
    }
    Ok((Some(tables), broken))
}

/// Returns whether there are folders of spaces, from which a repair can save tasks.
fn has_spaces(keyspaces: &Path) -> io::Result<bool> {
    if !keyspaces.try_exists()? {
        return Ok(false);
    }
    for entry in fs::read_dir(keyspaces)? {
        if entry?.file_name() != "0" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the number, the path and, if its name is known, the space of each folder.
fn named_folders(keyspaces: &Path) -> Result<Vec<(u64, PathBuf, Option<Space>)>, StoreError> {
    const ACTION: &str = "read the names of spaces";
    let names = names(&keyspaces.join("0"), ACTION)?;
    let mut folders = Vec::new();
    for entry in fs::read_dir(keyspaces).map_err(|error| StoreError::new(ACTION, error))? {
        let entry = entry.map_err(|error| StoreError::new(ACTION, error))?;
        let id = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(id) = id.filter(|id| *id != 0 && entry.path().is_dir()) else {
            continue;
        };
        let name = names.iter().find(|(named, _)| *named == id);
        let space = name.and_then(|(_, name)| {
            let mut spaces = Space::ALL.into_iter();
            spaces.find(|space| space.name().as_bytes() == &**name)
        });
        folders.push((id, entry.path(), space));
    }
    folders.sort_unstable_by_key(|(id, ..)| *id);
    Ok(folders)
}

/// Reads the names of folders. Reads all other rows, too: opening the store needs them.
fn names(folder: &Path, what: &'static str) -> Result<Vec<(u64, Bytes)>, StoreError> {
    let failed = |error: lsm_tree::Error| fjall_error::to_store_error(what, error.into());
    let mut names = Vec::new();
    for row in open(folder, what)?.iter(SeqNo::MAX, None) {
        let (key, name) = row.into_inner().map_err(failed)?;
        let id = key.strip_prefix(b"n").map(<[u8; 8]>::try_from);
        if let Some(Ok(id)) = id {
            names.push((u64::from_be_bytes(id), name.into()));
        }
    }
    Ok(names)
}

/// Checks the file `current` of a folder and the list of tables that it names. The inner error is a
/// description of the damage.
fn check_version(folder: &Path) -> io::Result<Result<(), String>> {
    let read = |name: &str| match fs::read(folder.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Err(format!("the file {name} is missing")))
        }
        other => other.map(Ok),
    };
    let current = match read("current")? {
        Ok(current) => current,
        Err(reason) => return Ok(Err(reason)),
    };
    let Some(current) = CurrentFile::decode(&current) else {
        return Ok(Err(format!(
            "the file current does not have {} bytes",
            CurrentFile::LENGTH
        )));
    };
    if current.checksum_type != 0 {
        return Ok(Err(format!(
            "the file current has a checksum of type {}, not 0",
            current.checksum_type
        )));
    }
    let name = current.version_file_name();
    let list = match read(&name)? {
        Ok(list) => list,
        Err(reason) => return Ok(Err(reason)),
    };
    if !current.matches(&list) {
        return Ok(Err(format!(
            "the file {name} does not match its checksum in the file current"
        )));
    }
    Ok(Ok(()))
}

impl SpaceTables {
    fn read(keyspace: u64, folder: &Path) -> Result<Self, StoreError> {
        const ACTION: &str = "read the tables";
        let tree = open(folder, ACTION)?;
        let marker = get(&tree, CommitMarker::KEY, ACTION)?;
        Ok(Self {
            keyspace,
            marker: marker
                .map(|value| CommitMarker::decode(&value))
                .transpose()?,
            seqno: tree.get_highest_persisted_seqno(),
        })
    }
}

fn open(folder: &Path, action: &'static str) -> Result<AnyTree, StoreError> {
    let (seqno, visible) = Default::default();
    let tree = lsm_tree::Config::new(folder, seqno, visible).open();
    tree.map_err(|error| fjall_error::to_store_error(action, error.into()))
}

fn get(tree: &AnyTree, key: &[u8], action: &'static str) -> Result<Option<Bytes>, StoreError> {
    let value = tree.get(key, SeqNo::MAX);
    let value = value.map_err(|error| fjall_error::to_store_error(action, error.into()))?;
    Ok(value.map(Bytes::from))
}
