use std::{
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use crate::scheduler::Job;

/// How long a group waits for more.
///
/// Those who were answered last are likely to ask again, and soon. If as many have not come, the group waits for
/// them, at most half as long as a commit takes: so groups of many clients grow together rather than split, and
/// each pays for fewer syncs. A client that is alone never waits.
#[derive(Default)]
pub(super) struct Pace {
    /// Jobs in the last group.
    last: usize,
    /// What a commit takes, smoothed.
    commit: Duration,
    begun: Option<Instant>,
    /// Until when the group under way waits.
    until: Option<Instant>,
}

impl Pace {
    /// What comes next, if that is soon enough.
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
