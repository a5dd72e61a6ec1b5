//! Opens the files that commands read.

use std::{fs::File, path::Path};

use super::CommandError;

/// Opens a file. `wanted` says what it should be, with its article.
pub(super) fn open(path: &Path, wanted: &'static str) -> Result<File, CommandError> {
    if path.is_dir() {
        let path = path.to_owned();
        return Err(CommandError::Folder { path, wanted });
    }
    File::open(path).map_err(CommandError::file(path))
}
