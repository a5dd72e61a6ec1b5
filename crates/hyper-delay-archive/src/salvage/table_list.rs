//! The tables of a space, also if the list of them is damaged.

use std::{fs, path::Path};

use super::faults::{FileFault, FileFaults};
use hyper_delay_fjall::files::version::{self, TableFile};

/// Lists the tables of a space's newest version or, if that is not readable, all tables in its
/// folder.
pub(super) fn list(folder: &Path, faults: &mut FileFaults) -> Vec<TableFile> {
    match version::newest(folder) {
        Ok(tables) => tables,
        Err(fault) => {
            faults.add(fault);
            list_all(folder, faults)
        }
    }
}

/// Lists all tables of a folder. They can contain rows that were removed in the newest version.
fn list_all(folder: &Path, faults: &mut FileFaults) -> Vec<TableFile> {
    let folder = folder.join("tables");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) => {
            faults.add(FileFault::new(&folder, error.to_string()));
            return Vec::new();
        }
    };
    let mut tables: Vec<TableFile> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .map(TableFile::unlisted)
        .collect();
    tables.sort_by(|one, other| one.path.cmp(&other.path));
    tables
}
