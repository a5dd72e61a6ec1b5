//! Maps spaces to folders. The list is in the tables of folder 0.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    SalvageError,
    faults::{FileFault, FileFaults},
    table_list,
    table_reader::TableReader,
};
use hyper_delay_store::Space;

/// The number of each space's folder.
#[derive(Debug)]
pub(super) struct SpaceFolders {
    ids: [u64; Space::ALL.len()],
    keyspaces: PathBuf,
}

impl SpaceFolders {
    /// Reads the list. A space that is not in it has the folder that it has in a new store.
    pub(super) fn read(store: &Path, faults: &mut FileFaults) -> Result<Self, SalvageError> {
        let keyspaces = store.join("keyspaces");
        let list = keyspaces.join("0");
        let mut names: Vec<(u64, Vec<u8>)> = Vec::new();
        for file in table_list::list(&list, faults) {
            if let Err(fault) = file.check() {
                faults.add(fault);
            }
            let mut table = match TableReader::open(&file.path, file.shift) {
                Ok(table) => table,
                Err(error) => {
                    faults.add(FileFault::new(&file.path, error.to_string()));
                    continue;
                }
            };
            while let Some(row) = table.next() {
                match row {
                    Err(fault) => faults.add(fault),
                    Ok(row) => {
                        let id = row.key.strip_prefix(b"n").and_then(<[u8]>::first_chunk);
                        if let (Some(id), Some(name)) = (id, row.value) {
                            names.push((u64::from_be_bytes(*id), name));
                        }
                    }
                }
            }
        }
        let mut ids = [0; Space::ALL.len()];
        for (space, made) in Space::ALL.into_iter().zip(1..) {
            let listed = names
                .iter()
                .find(|(_, name)| *name == space.name().as_bytes());
            if listed.is_none() {
                faults.add(FileFault::new(&list, "it does not list the space").in_space(space));
            }
            ids[space as usize] = listed.map_or(made, |(id, _)| *id);
        }
        let spaces = Self { ids, keyspaces };
        spaces.check_strays(faults)?;
        Ok(spaces)
    }

    /// Reports folders that belong to no space.
    fn check_strays(&self, faults: &mut FileFaults) -> Result<(), SalvageError> {
        let failed = SalvageError::at(&self.keyspaces);
        for entry in fs::read_dir(&self.keyspaces).map_err(failed)? {
            let path = entry.map_err(SalvageError::at(&self.keyspaces))?.path();
            let id = path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            if !id.is_some_and(|id| id == 0 || self.ids.contains(&id)) {
                faults.add(FileFault::new(&path, "it belongs to no space"));
            }
        }
        Ok(())
    }

    pub(super) fn folder(&self, space: Space) -> PathBuf {
        self.keyspaces.join(self.ids[space as usize].to_string())
    }

    pub(super) fn space(&self, id: u64) -> Option<Space> {
        let mut spaces = Space::ALL.into_iter();
        spaces.find(|space| self.ids[*space as usize] == id)
    }
}
