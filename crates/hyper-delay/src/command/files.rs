//! Files that commands read, and the limit of open files.

use std::{fs::File, path::Path};

use super::{Failure, log};
use hyper_delay_fjall::data_directory::RESTORING;

/// Opens a file. `wanted` says what it should be, with its article.
pub(super) fn open(path: &Path, wanted: &'static str) -> Result<File, Failure> {
    if path.is_dir() {
        let path = path.to_owned();
        return Err(Failure::Folder { path, wanted });
    }
    File::open(path).map_err(Failure::file(path))
}

/// Says what a restore or an import that has failed leaves in its directory.
pub(super) fn note_unfinished(directory: &Path) {
    if directory.join(RESTORING).exists() {
        let directory = directory.display();
        log::line(&format!(
            "note: no server starts with the data_dir {directory} until a restore or an import into \
             it has succeeded, or what is in it is deleted"
        ));
    }
}

/// Raises the soft limit to the hard limit, and warns if that fails. The server caps its
/// connections by the result.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

#[cfg(not(unix))]
pub(super) const fn raise_limit() {}
