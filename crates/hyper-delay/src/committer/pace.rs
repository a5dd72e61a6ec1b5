use std::time::{Duration, Instant};

use super::group::Group;

/// How long the writer waits for a group to grow.
///
/// Clients whose requests were answered by the last commit are likely to send the next ones soon. A
/// small group with fewer jobs than the last one waits for them, at most half as long as a commit
/// takes. So the requests of many clients share one sync. A single client never waits.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Jobs in the last group.
    last: usize,
    /// Smoothed duration of a commit.
    commit: Duration,
    begun: Option<Instant>,
}

impl Pace {
    /// Returns the number of jobs to wait for, and how long.
    pub(super) fn patience(&self) -> (usize, Duration) {
        (self.last.min(Group::ENOUGH), self.commit / 2)
    }

    /// Notes that a group with this many jobs is about to be committed.
    pub(super) fn begins(&mut self, jobs: usize) {
        self.last = jobs;
        self.begun = Some(Instant::now());
    }

    /// Notes that it is committed.
    pub(super) fn ended(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.commit = (self.commit * 7 + begun.elapsed()) / 8;
        }
    }
}
