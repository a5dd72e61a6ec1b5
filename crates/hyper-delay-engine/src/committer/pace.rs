use std::time::Duration;

use super::group::Group;

/// The longest wait: a disk that stalled once does not delay the next groups.
const MAX: Duration = Duration::from_millis(5);

/// How long the writer waits for a group to grow.
///
/// Clients whose requests were answered by the last commit are likely to send the next ones soon. A
/// small group with fewer jobs than the last one waits for them, at most half as long as a commit
/// takes. So the requests of many clients share one sync. A client with one request under way never
/// waits.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Jobs in the last group.
    last: usize,
    /// Smoothed duration of a commit.
    commit: Duration,
}

impl Pace {
    /// Returns the number of jobs to wait for, and how long.
    pub(super) fn patience(&self) -> (usize, Duration) {
        (self.last.min(Group::ENOUGH), (self.commit / 2).min(MAX))
    }

    /// Notes a group with this many jobs, whose commit took `commit` if it changed anything.
    pub(super) fn written(&mut self, jobs: usize, commit: Option<Duration>) {
        self.last = jobs;
        if let Some(commit) = commit {
            self.commit = (self.commit * 7 + commit) / 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writer_waits_for_as_many_jobs_as_the_last_group_had_within_limits() {
        let millis = Duration::from_millis;
        let mut pace = Pace::default();
        assert_eq!(pace.patience(), (0, Duration::ZERO));
        pace.written(3, Some(millis(16)));
        assert_eq!(pace.patience(), (3, millis(1)));
        pace.written(Group::ENOUGH + 1, None);
        assert_eq!(pace.patience(), (Group::ENOUGH, millis(1)));
        pace.written(1, Some(millis(1_000)));
        assert_eq!(pace.patience(), (1, MAX));
    }
}
