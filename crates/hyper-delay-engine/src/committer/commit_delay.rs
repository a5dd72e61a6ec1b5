use std::time::Duration;

use super::group::Group;

/// The longest wait: a disk that stalled once does not delay the next groups.
const MAX: Duration = Duration::from_millis(5);

/// The time that the writer waits for a group to grow.
///
/// Clients whose requests were answered by the last commit are likely to send the next ones soon. A
/// small group with fewer jobs than the last one waits for them, at most half as long as a commit
/// takes. So the requests of many clients share one sync. A client with one request in flight never
/// waits.
#[derive(Debug, Default)]
pub(super) struct CommitDelay {
    /// Jobs in the last group.
    last: usize,
    /// Smoothed duration of a commit.
    commit: Duration,
}

impl CommitDelay {
    /// Returns the number of jobs to wait for, and how long.
    pub(super) fn target_and_limit(&self) -> (usize, Duration) {
        (self.last.min(Group::ENOUGH), (self.commit / 2).min(MAX))
    }

    /// Notes a group with this many jobs, whose commit took `commit` if it changed anything.
    pub(super) fn note_commit(&mut self, jobs: usize, commit: Option<Duration>) {
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
        let mut commit_delay = CommitDelay::default();
        assert_eq!(commit_delay.target_and_limit(), (0, Duration::ZERO));
        commit_delay.note_commit(3, Some(millis(16)));
        assert_eq!(commit_delay.target_and_limit(), (3, millis(1)));
        commit_delay.note_commit(Group::ENOUGH + 1, None);
        assert_eq!(commit_delay.target_and_limit(), (Group::ENOUGH, millis(1)));
        commit_delay.note_commit(1, Some(millis(1_000)));
        assert_eq!(commit_delay.target_and_limit(), (1, MAX));
    }
}
