use std::{
    io::{self, BufWriter},
    path::PathBuf,
};

use clap::Args;

use super::{CommandError, error::LostTasks, log, output::report};
use hyper_delay_archive::salvage;

/// Print every readable task of a stopped server as a line of JSON.
///
/// Each line is a request that schedules the task, so a server accepts the output as it is. The
/// fields state (waiting, parked or dead) and attempt are for filters: a server ignores them, and
/// delivers a dead letter again. Damage is reported on standard error. The exit code is 3 if
/// anything is lost or missing.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay export data/db | nc -N 127.0.0.1 7000")]
pub(super) struct Export {
    /// The data_dir of the server.
    dir: PathBuf,
}

impl Export {
    pub(super) fn run(self) -> Result<(), CommandError> {
        log::start_client();
        let mut out = BufWriter::new(io::stdout().lock());
        let exported = salvage::export(&self.dir, &mut out)?;
        for line in exported.missing.iter().chain(&exported.faults) {
            report(line)?;
        }
        let lost = LostTasks {
            known: exported.lost,
            most_unknown: exported.missing_tasks,
        };
        report(&format!("exported {}, lost {lost}", exported.tasks))?;
        CommandError::incomplete(lost, exported.missing.len())
    }
}
