//! The bulk operations of a shard, as they are in its journal.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{sent_requests::SentRequests, stored_shard::StoredTask};
use crate::simulation::task_name::TaskName;
use hyper_delay_engine::sizes::Sizes;
use hyper_delay_protocol::{BulkAct, BulkMoveTo, JobRow, Reply, TaskState};
use hyper_delay_store::record::{BulkJob, JobAction, JobState, Place};

/// How far the wall clocks of two nodes are apart at the most, in milliseconds.
pub(super) const SKEW: u64 = 400;

#[derive(Debug, Default)]
pub(super) struct StoredJobs {
    by_number: BTreeMap<u64, StoredJob>,
}

/// A bulk operation.
#[derive(Debug)]
struct StoredJob {
    job: BulkJob,
    /// The tasks of its route when it began.
    tasks: Vec<(TaskName, u64, Place)>,
    /// Those that have left their place since. Others can have moved them, and it back again.
    placed_anew: BTreeSet<TaskName>,
}

impl StoredJob {
    fn is_running(&self) -> bool {
        self.job.state == JobState::Running
    }

    /// Returns whether it is for a task that has this place.
    fn is_for(&self, place: Place) -> bool {
        let BulkJob {
            from,
            until,
            ref reason,
            ..
        } = self.job;
        // No dead letter has a reason here.
        let has_reason = reason.as_deref().is_none_or(str::is_empty);
        let is_in_time = |at| {
            let is_late = from.is_none_or(|from| at >= from);
            is_late && until.is_none_or(|until| at < until)
        };
        match (self.job.act(), place) {
            (BulkAct::Purge, _) => true,
            (BulkAct::Kick | BulkAct::Delete, Place::Dead(at)) => has_reason && is_in_time(at),
            // Whether a task retries is not known here.
            (BulkAct::Move(moves), Place::Waiting(at)) => {
                let is_of_waiting = matches!(moves.state, None | Some(TaskState::Waiting));
                let stays = moves.to == BulkMoveTo::At(at);
                is_of_waiting && reason.is_none() && is_in_time(at) && !stays
            }
            _ => false,
        }
    }
}

impl StoredJobs {
    /// Whether a bulk operation that runs may remove, or kick, this task.
    pub(super) fn may_change(&self, name: &TaskName, task: &StoredTask, kicks: bool) -> bool {
        self.by_number.iter().any(|(number, stored)| {
            let is_it = stored.is_running() && *stored.job.route == *name.route;
            let is_its_act = match stored.job.act {
                JobAction::Kick => kicks,
                JobAction::Delete | JobAction::Purge => !kicks,
                JobAction::Move => false,
            };
            is_it && is_its_act && task.seq < *number && stored.is_for(task.place)
        })
    }

    /// A task has another place.
    pub(super) fn placed_anew(&mut self, name: &TaskName) {
        for stored in self.by_number.values_mut() {
            if stored.is_running() && *stored.job.route == *name.route {
                stored.placed_anew.insert(name.clone());
            }
        }
    }

    /// A bulk operation begins or continues.
    pub(super) fn put(
        &mut self,
        number: u64,
        job: BulkJob,
        asked: &mut SentRequests,
        tasks: &BTreeMap<TaskName, StoredTask>,
    ) -> Result<(), String> {
        let Some(stored) = self.by_number.get_mut(&number) else {
            if !asked.begun(&job) || job.state != JobState::Running {
                return Err(format!("job {number} was not requested: {job:?}"));
            }
            let of_route = tasks.iter().filter(|(name, _)| *name.route == *job.route);
            let tasks = of_route.map(|(name, task)| (name.clone(), task.seq, task.place));
            let stored = StoredJob {
                tasks: tasks.collect(),
                placed_anew: BTreeSet::new(),
                job,
            };
            self.by_number.insert(number, stored);
            return Ok(());
        };
        if !stored.is_running() {
            return Err(format!("job {number} continues after its end: {job:?}"));
        }
        stored.job = job;
        let is_stopped = stored.job.state == JobState::Stopped;
        if is_stopped && !asked.is_stopped(number) {
            return Err(format!("nobody has stopped job {number}"));
        }
        let most = stored.tasks.len() as u64;
        if stored.job.changed > most && stored.job.act != JobAction::Kick {
            let changed = stored.job.changed;
            return Err(format!(
                "job {number} has changed {changed} of {most} tasks"
            ));
        }
        Ok(())
    }

    /// Checks that the bulk operations among `ended` have forgotten no task. Of a purge or a move,
    /// tasks that can be in flight may be left.
    pub(super) fn check_ended(
        &self,
        ended: &[u64],
        tasks: &BTreeMap<TaskName, StoredTask>,
        was_sent: &BTreeSet<u64>,
        now: u64,
    ) -> Result<(), String> {
        for number in ended {
            let stored = &self.by_number[number];
            if stored.job.state != JobState::Done {
                continue;
            }
            // One that was in flight may be dead by now.
            let is_idle = |before: Place, task: &StoredTask| {
                let is_later = matches!(task.place, Place::Waiting(at) if at > now + SKEW);
                stored.job.in_flight
                    || task.is_dead() && before == task.place
                    || is_later && !was_sent.contains(&task.seq)
            };
            let mut left = stored.tasks.iter().filter(|(name, seq, place)| {
                let is_same = |task: &StoredTask| match stored.job.act {
                    JobAction::Purge => task.seq == *seq && is_idle(*place, task),
                    JobAction::Move => {
                        let stays = (task.seq, task.place) == (*seq, *place);
                        stays && !stored.placed_anew.contains(name) && is_idle(*place, task)
                    }
                    _ => (task.seq, task.place) == (*seq, *place),
                };
                *seq < *number && stored.is_for(*place) && tasks.get(name).is_some_and(is_same)
            });
            if let Some((name, ..)) = left.next() {
                return Err(format!("job {number} has forgotten {name}"));
            }
        }
        Ok(())
    }

    /// The rows of these bulk operations are removed, in an entry by which others have `changed`:
    /// those that ended first, of more than are kept.
    pub(super) fn forget(&mut self, forgotten: &[u64], changed: &[u64]) -> Result<(), String> {
        let ended = self.by_number.iter().filter_map(|(number, stored)| {
            // The entry in which it ends can be the one in which it is forgotten.
            let ends_now = stored.is_running() && forgotten.contains(number);
            let is_new = ends_now || changed.contains(number);
            (ends_now || !stored.is_running()).then_some((is_new, stored.job.ended_at, *number))
        });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        let excess = ended.len().saturating_sub(Sizes::SMALL.ended_jobs);
        let mut expected: Vec<u64> = ended[..excess]
            .iter()
            .map(|(_, _, number)| *number)
            .collect();
        expected.sort_unstable();
        if expected != forgotten {
            return Err(format!(
                "jobs {forgotten:?} are forgotten instead of {expected:?}: {ended:?}"
            ));
        }
        for number in forgotten {
            self.by_number.remove(number);
        }
        Ok(())
    }

    /// A leader answers a request.
    pub(super) fn check_reply(&self, reply: &Reply) -> Result<(), String> {
        match reply {
            Reply::Job(row) => self.check_job_reply(row),
            Reply::Stopped { job, .. } => {
                let stored = self.by_number.get(job);
                match stored.is_some_and(StoredJob::is_running) {
                    true => Err(format!("job {job} is running, though it was stopped")),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn check_job_reply(&self, row: &JobRow) -> Result<(), String> {
        let stored = self.by_number.get(&row.job);
        let is_it = stored.is_some_and(|stored| {
            let job = &stored.job;
            (job.act().as_str(), &*job.route) == (row.act, &*row.route)
        });
        // It can be over and forgotten by now.
        let is_older = self.by_number.keys().next_back() > Some(&row.job);
        match is_it || stored.is_none() && is_older {
            true => Ok(()),
            false => Err(format!("job {} was acknowledged and lost", row.job)),
        }
    }

    /// All bulk operations have ended.
    pub(super) fn end(&self) -> Result<(), String> {
        let mut running = self.by_number.iter().filter(|(_, it)| it.is_running());
        match running.next() {
            Some((number, stored)) => {
                let route: &Arc<str> = &(&*stored.job.route).into();
                Err(format!("job {number} of {route} has not ended"))
            }
            None => Ok(()),
        }
    }
}
