//! The note about damaged tables in a data directory.
//!
//! A compaction or a read that meets such a table ends the server, and would end it again after
//! each start. So the next start checks the noted tables first, and refuses until they are repaired
//! or whole.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Component, Path, PathBuf, absolute},
};

use super::{
    data_directory::sync,
    files::{FileFault, version},
};
use hyper_delay_store::{Space, StoreError};

/// The name of the note. Each line has the path of a table below the store, and after a tab the name
/// of its space.
const NOTE_NAME: &str = "damaged-tables";

/// Compares every table in the folder of a space with its checksum, until `is_cancelled` returns
/// true. A read error of the disk is no damage.
pub(super) fn find(
    folder: &Path,
    space: Option<Space>,
    is_cancelled: &dyn Fn() -> bool,
) -> Vec<FileFault> {
    let in_space = |fault: FileFault| match space {
        Some(space) => fault.in_space(space),
        None => fault,
    };
    let tables = match version::newest(folder) {
        Ok(tables) => tables,
        Err(fault) => return Vec::from_iter(Some(in_space(fault)).filter(FileFault::is_damage)),
    };
    let tables = tables.iter().take_while(|_| !is_cancelled());
    let faults = tables.filter_map(|table| {
        let fault = table.check().err().filter(FileFault::is_damage)?;
        // A compaction can have replaced and deleted it meanwhile.
        let now = version::newest(folder).unwrap_or_default();
        now.iter().any(|it| it.path == table.path).then_some(fault)
    });
    faults.map(in_space).collect()
}

/// Returns the error of a store with these faults.
pub(super) fn error(action: &'static str, faults: &[FileFault]) -> StoreError {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    StoreError::damage(action, faults.join("; "))
}

/// Notes damaged tables of the store for the next start.
pub(super) fn write_note(directory: &Path, store: &Path, faults: &[FileFault]) -> io::Result<()> {
    // As the library names its files.
    let store = absolute(store)?;
    let mut text = String::new();
    for fault in faults {
        if let Ok(path) = fault.file().strip_prefix(&store) {
            let space = fault.space().unwrap_or_default();
            text += &format!("{}\t{space}\n", path.display());
        }
    }
    let mut file = File::create(directory.join(NOTE_NAME))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    sync(directory)
}

/// Returns the noted tables that are still damaged. Removes the note if none is.
pub(super) fn read_note(directory: &Path, store: &Path) -> io::Result<Vec<FileFault>> {
    let (note, store) = (directory.join(NOTE_NAME), absolute(store)?);
    let text = match fs::read(&note) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let cure = format!("{} cannot be read: {error}; remove it", note.display());
            return Err(io::Error::new(error.kind(), cure));
        }
    };
    let faults: Vec<FileFault> = text
        .lines()
        .filter_map(|line| recheck(&store, line))
        .collect();
    if faults.is_empty() {
        fs::remove_file(&note)?;
        sync(directory)?;
    }
    Ok(faults)
}

/// Returns the damage to the table of a line, if the table is still part of the store.
fn recheck(store: &Path, line: &str) -> Option<FileFault> {
    let (path, space) = line.split_once('\t')?;
    let path = PathBuf::from(path);
    let mut parts = path.components();
    let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
    let table = store.join(path);
    let folder = table.parent()?.parent().filter(|_| is_below)?;
    // A list that cannot be read is found without a note.
    let tables = version::newest(folder).ok()?;
    let fault = tables.iter().find(|it| it.path == table)?.check().err();
    let fault = fault.filter(FileFault::is_damage)?;
    let space = Space::ALL.into_iter().find(|it| it.name() == space);
    Some(match space {
        Some(space) => fault.in_space(space),
        None => fault,
    })
}
