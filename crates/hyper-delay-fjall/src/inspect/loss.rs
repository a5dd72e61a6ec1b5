use std::fmt;

use super::{
    replay::{Gap, Stop},
    tables::Broken,
};
use crate::{
    Marker,
    commits::{self, Commits},
};
use hyper_delay_store::Space;

/// Describes the acknowledged data that is missing from a store.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    findings: Vec<String>,
}

impl Loss {
    pub(super) fn new(broken: &[Broken]) -> Self {
        Self {
            findings: broken.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding if the last commit of a space is older than the recorded one.
    pub(crate) fn compare(&mut self, space: Space, last: u64, wanted: u64) {
        self.findings.extend(commits::behind(space, last, wanted));
    }

    pub(super) fn gaps(&mut self, gaps: &[Gap]) {
        self.findings.extend(gaps.iter().map(|gap| {
            let Gap {
                space,
                from,
                to,
                journal,
            } = gap;
            let gap = commits::gap(*space, *from, *to);
            format!("{gap}, before those in {}", journal.display())
        }));
    }

    /// Puts these first: they are causes of what follows.
    pub(super) fn stops(&mut self, stops: &[Stop]) {
        let stops = stops.iter().map(|stop| {
            let Stop {
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
    pub(super) fn totals(&mut self, record: &Commits, newest: &Marker) {
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
    pub(super) fn record(&mut self, fault: &str) {
        let record = "the commit record (the file commits beside the store)";
        self.findings.push(format!("{record} {fault}"));
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.findings.join("; "))
    }
}
