use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Write as _},
    path::PathBuf,
};

use clap::Args;

use super::{
    CommandError, log,
    output::{print, report},
};
use hyper_delay_archive::{backup, salvage};

/// Check the store of a stopped server, or a backup.
///
/// Reads everything and prints a line for each file, space and task that is damaged, missing or
/// inconsistent. Writes nothing. The exit code is 0 only if there are no findings. The unreadable
/// end that a crash leaves in a journal is not damage if nothing that was acknowledged is missing.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay verify data/db")]
pub(super) struct Verify {
    /// The data_dir of the server, or a backup. - reads a backup from standard input.
    dir: PathBuf,
}

impl Verify {
    pub(super) fn run(self) -> Result<(), CommandError> {
        log::start_client();
        if self.dir.is_file() {
            let file = File::open(&self.dir).map_err(CommandError::file(&self.dir))?;
            let name = self.dir.display().to_string();
            let checked = backup::check(BufReader::new(file), &name)?;
            return print(&format!("all is well: {checked}"));
        }
        if self.dir.as_os_str() == "-" {
            let input = io::stdin().lock();
            let checked = backup::check(BufReader::new(input), "standard input")?;
            return print(&format!("all is well: {checked}"));
        }
        if !self.dir.exists() {
            return Err(CommandError::NothingToVerify(self.dir));
        }
        let mut out = BufWriter::new(io::stdout().lock());
        let verified = salvage::verify(&self.dir, &mut |line| writeln!(out, "{line}"))?;
        let (tasks, findings) = (verified.tasks, verified.findings);
        for note in verified.notes {
            report(&format!(
                "note: {note}; a crash leaves this of a write that was not acknowledged, and the \
                 next start mends it"
            ))?;
        }
        if findings == 0 {
            writeln!(out, "all is well: {tasks} tasks").map_err(CommandError::Output)?;
        }
        out.flush().map_err(CommandError::Output)?;
        if findings > 0 {
            return Err(CommandError::Damaged {
                directory: self.dir,
                findings,
                tasks,
            });
        }
        Ok(())
    }
}
