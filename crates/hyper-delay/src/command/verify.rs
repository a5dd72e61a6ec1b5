use std::{
    io::{self, BufWriter, Write as _},
    path::PathBuf,
};

use clap::Args;

use super::{Failure, log};
use crate::salvage;

/// Check the store of a stopped server.
///
/// Reads everything and prints a line for each file, space and task that is damaged, missing or
/// inconsistent. Writes nothing. The exit code is 0 only if all is well. The unreadable end that a
/// crash leaves in a journal is no damage, if nothing that was acknowledged is missing.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay verify data/db")]
pub(super) struct Verify {
    /// The data_dir of the server.
    dir: PathBuf,
}

impl Verify {
    pub(super) fn run(self) -> Result<(), Failure> {
        log::start(log::CLIENT);
        let mut out = BufWriter::new(io::stdout().lock());
        let verified = salvage::verify(&self.dir, &mut |line| writeln!(out, "{line}"))?;
        let (tasks, findings) = (verified.tasks, verified.findings);
        for note in verified.notes {
            eprintln!(
                "note: {note}; a crash leaves this of a write that was not acknowledged, and the \
                 next start mends it"
            );
        }
        if findings == 0 {
            writeln!(out, "all is well: {tasks} tasks").map_err(Failure::Output)?;
        }
        out.flush().map_err(Failure::Output)?;
        if findings > 0 {
            return Err(Failure::Damaged {
                directory: self.dir,
                findings,
                tasks,
            });
        }
        Ok(())
    }
}
