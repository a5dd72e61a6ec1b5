//! Cuts off the end of a journal that cannot be read, at the start.

use std::{fs::File, io};

use crate::{inspect::JournalCut, quarantine::Quarantine};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::embedded::open";

/// Cuts off the end of a journal, of which there may be a copy.
pub(super) fn cut_journal(cut: &JournalCut<'_>, copy: Option<&Quarantine>) -> io::Result<()> {
    let journal = File::options().write(true).open(cut.journal)?;
    journal.set_len(cut.readable)?;
    journal.sync_all()?;
    tracing::warn!(
        target: TARGET,
        journal = %cut.journal.display(),
        kept = cut.readable,
        bytes = cut.written - cut.readable,
        copy = copy.map(|quarantine| tracing::field::display(quarantine.folder().display())),
        "the end of a journal is not readable and was cut off",
    );
    Ok(())
}
