use std::path::PathBuf;

use clap::Args;

use super::{
    CommandError,
    error::LostTasks,
    log,
    output::{print, report},
};
use hyper_delay_archive::salvage;

/// Save every readable task of a stopped server in a new directory.
///
/// The old directory does not change. Use the new one as data_dir. Its file lost.jsonl has a line
/// of JSON for each task that could not be saved. No task is delivered early; a task whose
/// acknowledgement is lost is delivered again. The exit code is 3 if anything is lost or missing.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay repair data/db --to data/repaired")]
pub(super) struct Repair {
    /// The data_dir of the server.
    dir: PathBuf,
    /// The directory to create.
    #[arg(long, value_name = "NEW")]
    to: PathBuf,
}

impl Repair {
    pub(super) fn run(self) -> Result<(), CommandError> {
        log::start_client();
        let repaired = salvage::repair(&self.dir, &self.to)?;
        for line in repaired.missing.iter().chain(&repaired.faults) {
            report(line)?;
        }
        let lost = |known| LostTasks {
            known,
            most_unknown: repaired.missing_tasks,
        };
        print(&format!(
            "saved {}, lost {}, contents without a name {}, old revisions left out {}",
            repaired.saved,
            lost(repaired.lost),
            repaired.nameless,
            repaired.superseded
        ))?;
        print(&format!(
            "{} lists all that is lost; to use the saved tasks, set data_dir to {}",
            repaired.list.display(),
            self.to.display()
        ))?;
        let lost = lost(repaired.lost + repaired.nameless);
        CommandError::incomplete(lost, repaired.missing.len())
    }
}
