use std::fmt;

use super::{
    journal_replay::{CommitGap, ReplayStop},
    space_tables::UnusablePart,
};
use crate::{
    CommitMarker,
    commit_record::{self, CommitRecord},
};
use hyper_delay_store::Space;

/// Describes the acknowledged data that is missing from a store.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    findings: Vec<String>,
}

impl Loss {
    pub(super) fn new(broken: &[UnusablePart]) -> Self {
        Self {
            findings: broken.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding if the last commit of a space is older than the recorded one.
    pub(crate) fn compare(&mut self, space: Space, last: u64, recorded: u64) {
        self.findings
            .extend(commit_record::describe_behind(space, last, recorded));
    }

    pub(super) fn add_gaps(&mut self, gaps: &[CommitGap]) {
        self.findings.extend(gaps.iter().map(|gap| {
            let CommitGap {
                space,
                from,
                to,
                journal,
            } = gap;
            let gap = commit_record::describe_gap(*space, *from, *to);
            format!("{gap}, before those in {}", journal.display())
        }));
    }

    /// Adds the stops before the other findings: they are the causes.
    pub(super) fn add_stops(&mut self, stops: &[ReplayStop]) {
        let stops = stops.iter().map(|stop| {
            let ReplayStop {
                journal,
                range,
                reason,
                batches,
                is_searched,
            } = stop;
            let least = if *is_searched { "" } else { "at least " };
            format!(
                "{} ends at byte {} instead of {}: {reason}, and {least}{batches} readable batches \
                 follow",
                journal.display(),
                range.start,
                range.end,
            )
        });
        self.findings.splice(..0, stops);
    }

    /// Adds the number of recorded commits, schedules and removals after the newest commit of the
    /// store.
    pub(super) fn add_totals(&mut self, record: &CommitRecord, newest: &CommitMarker) {
        let schedules = record.schedules.saturating_sub(newest.schedules);
        let removals = record.removals.saturating_sub(newest.removals);
        let commits = record.commit.saturating_sub(newest.commit);
        if commits == 0 {
            return;
        }
        self.findings.push(format!(
            "the commit record counts more than is left (commits: {commits}, schedules: \
             {schedules}, removals: {removals})"
        ));
    }

    /// Adds a finding about the commit record itself.
    pub(super) fn add_record_fault(&mut self, fault: &str) {
        let record = "the commit record (the file commits beside the store)";
        self.findings.push(format!("{record} {fault}"));
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.findings.join("; "))
    }
}
