/// The target of its events in the log.
const TARGET: &str = "hyper_delay::ledger::mend::report";
/// The number of removed tasks that are logged with their names.
const NAMED: u64 = 10;

/// The changes of a mending.
#[derive(Debug, Default)]
pub(super) struct MendReport {
    /// Number of tasks that were removed, because their content is missing.
    removed: u64,
    /// Number of names that were made from an entry.
    pub(super) names: u64,
    /// Number of entries that were made from a name.
    pub(super) entries: u64,
    /// Number of contents that no name referred to.
    pub(super) contents: u64,
    /// Number of tasks that had the sequence number of another and received a new one.
    pub(super) renumbered: u64,
    /// Number of rows that could not be decoded.
    pub(super) malformed: u64,
}

impl MendReport {
    /// Counts a task that is removed, and logs the first few.
    pub(super) fn removed(&mut self, route: &str, id: &str, seq: u64, reason: &str) {
        self.removed += 1;
        if self.removed <= NAMED {
            tracing::warn!(target: TARGET, route, id, seq, reason, "a task is removed");
        }
    }

    /// Logs the numbers.
    pub(super) fn log(&self, tasks: u64) {
        let Self {
            removed,
            names,
            entries,
            contents,
            renumbered,
            malformed,
        } = self;
        tracing::warn!(
            target: TARGET,
            tasks,
            removed,
            names_rebuilt = names,
            entries_rebuilt = entries,
            renumbered,
            contents_without_a_name_removed = contents,
            malformed_rows_removed = malformed,
            "the store was mended after an accepted loss; every task that is left is complete",
        );
    }
}
