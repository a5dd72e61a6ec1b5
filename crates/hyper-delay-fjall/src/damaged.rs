//! The note about damaged tables in a data directory.
//!
//! A compaction or a read that meets such a table ends the server, and would end it again after each
//! start.
//! So the next start reads what is noted first, and refuses until it is repaired or whole.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Component, Path, PathBuf, absolute},
};

use super::{
    data_directory::sync,
    files::{Fault, version},
};
use hyper_delay_store::{Space, StoreError};

/// The name of the note. Each line has the path of a table below the store, and after a tab the name
/// of its space.
const NOTE: &str = "damaged-tables";

/// Compares every table in the folder of a space with its checksum, until `ends`. What the disk does
/// not give is no damage.
pub(super) fn tables(folder: &Path, space: Option<Space>, ends: &dyn Fn() -> bool) -> Vec<Fault> {
    let of = |fault: Fault| match space {
        Some(space) => fault.of(space),
        None => fault,
    };
    let tables = match version::newest(folder) {
        Ok(tables) => tables,
        Err(fault) => return Vec::from_iter(Some(of(fault)).filter(Fault::is_damage)),
    };
    let tables = tables.iter().take_while(|_| !ends());
    let faults = tables.filter_map(|table| {
        let fault = table.check().err().filter(Fault::is_damage)?;
        // Meanwhile it can have been replaced and deleted.
        let now = version::newest(folder).unwrap_or_default();
        now.iter().any(|it| it.path == table.path).then_some(fault)
    });
    faults.map(of).collect()
}

/// Returns the error of a store with these faults.
pub(super) fn error(action: &'static str, faults: &[Fault]) -> StoreError {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    StoreError::damage(action, faults.join("; "))
}

/// Notes damaged tables of the store for the next start.
pub(super) fn note(directory: &Path, store: &Path, faults: &[Fault]) -> io::Result<()> {
    // As the library names its files.
    let store = absolute(store)?;
    let mut text = String::new();
    for fault in faults {
        if let Ok(path) = fault.file().strip_prefix(&store) {
            let space = fault.space().unwrap_or_default();
            text += &format!("{}\t{space}\n", path.display());
        }
    }
    let mut file = File::create(directory.join(NOTE))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    sync(directory)
}

/// Returns what is still damaged of the tables that are noted. Removes the note if nothing is.
pub(super) fn noted(directory: &Path, store: &Path) -> io::Result<Vec<Fault>> {
    let (note, store) = (directory.join(NOTE), absolute(store)?);
    let text = match fs::read(&note) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let cure = format!("{} cannot be read: {error}; remove it", note.display());
            return Err(io::Error::new(error.kind(), cure));
        }
    };
    let faults: Vec<Fault> = text
        .lines()
        .filter_map(|line| still(&store, line))
        .collect();
    if faults.is_empty() {
        fs::remove_file(&note)?;
        sync(directory)?;
    }
    Ok(faults)
}

/// Returns what is wrong with the table of a line, if it is still part of the store.
fn still(store: &Path, line: &str) -> Option<Fault> {
    let (path, space) = line.split_once('\t')?;
    let path = PathBuf::from(path);
    let mut parts = path.components();
    let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
    let table = store.join(path);
    let folder = table.parent()?.parent().filter(|_| is_below)?;
    // A list that cannot be read is found without a note.
    let tables = version::newest(folder).ok()?;
    let fault = tables.iter().find(|it| it.path == table)?.check().err();
    let fault = fault.filter(Fault::is_damage)?;
    let space = Space::ALL.into_iter().find(|it| it.name() == space);
    Some(match space {
        Some(space) => fault.of(space),
        None => fault,
    })
}
