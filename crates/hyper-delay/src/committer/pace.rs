use std::{
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use crate::scheduler::Job;

/// How long a group waits for more jobs.
///
/// Clients whose requests were answered by the last commit are likely to send the next ones soon. A
/// group with fewer jobs than the last one waits for them, at most half as long as a commit takes.
/// So the requests of many clients share one sync. A single client never waits.
#[derive(Default)]
pub(super) struct Pace {
    /// Jobs in the last group.
    last: usize,
    /// Smoothed duration of a commit.
    commit: Duration,
    begun: Option<Instant>,
    /// The end of the current group's wait.
    until: Option<Instant>,
}

impl Pace {
    /// Returns the next jobs if they arrive in time for the current group.
    pub(super) fn next(&mut self, jobs: &Receiver<Vec<Job>>, have: usize) -> Option<Vec<Job>> {
        if let Ok(next) = jobs.try_recv() {
            return Some(next);
        }
        if have >= self.last {
            return None;
        }
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + self.commit / 2);
        jobs.recv_timeout(until.saturating_duration_since(now)).ok()
    }

    pub(super) fn begins(&mut self, jobs: usize) {
        self.last = jobs;
        self.until = None;
        self.begun = Some(Instant::now());
    }

    pub(super) fn ended(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.commit = (self.commit * 7 + begun.elapsed()) / 8;
        }
    }
}
