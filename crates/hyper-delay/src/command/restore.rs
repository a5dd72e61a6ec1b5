use std::{
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use clap::Args;

use super::{CommandError, input_file, log, output::print};
use hyper_delay_archive::backup;
use hyper_delay_fjall::data_directory::RESTORING;

/// Restore a backup into a new data directory.
///
/// The backup is checked before anything is written; from standard input, while it is written.
/// Tasks keep their sequence numbers, revisions, states and attempts. A directory that is not empty
/// is refused. If a restore fails or is interrupted, no server starts in the directory until a
/// restore into it succeeds or its contents are deleted.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  hyper-delay restore tasks.backup --to data/db
  zstd -d < tasks.backup.zst | hyper-delay restore - --to data/db")]
pub(super) struct Restore {
    /// The backup. - reads it from standard input.
    backup: PathBuf,
    /// The data_dir for the server: a new or an empty directory.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Restore {
    pub(super) fn run(self) -> Result<(), CommandError> {
        log::start_client();
        let restored = if self.backup.as_os_str() == "-" {
            backup::restore(io::stdin().lock(), None, "standard input", &self.to)
        } else {
            let open = || input_file::open(&self.backup, "a backup").map(BufReader::new);
            let name = self.backup.display().to_string();
            backup::restore(open()?, Some(&mut open()?), &name, &self.to)
        };
        let checked = restored.inspect_err(|_| note_unfinished(&self.to))?;
        print(&format!(
            "restored {checked}; to use them, set data_dir to {}",
            self.to.display()
        ))
    }
}

/// Logs a note on the unusable directory that a failed restore or import leaves.
pub(super) fn note_unfinished(directory: &Path) {
    if directory.join(RESTORING).exists() {
        let directory = directory.display();
        log::line(&format!(
            "note: no server starts with the data_dir {directory} until a restore or an import into \
             it has succeeded, or what is in it is deleted"
        ));
    }
}
