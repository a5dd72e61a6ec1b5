//! The contents of the journal of a shard.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    pending_tasks::{PendingTasks, TaskTokens},
    sent_requests::SentRequests,
    stored_jobs::{SKEW, StoredJobs},
};
use crate::simulation::task_name::TaskName;
use hyper_delay_engine::sizes::Sizes;
use hyper_delay_protocol::{Code, Refusal};
use hyper_delay_store::record::Place;

/// The place of an entry in the journal, and its leadership.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EntryPosition {
    pub(super) place: u64,
    pub(super) epoch: u64,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct StoredShard {
    pub(super) tasks: BTreeMap<TaskName, StoredTask>,
    pub(super) paused: BTreeMap<Arc<str>, StoredPause>,
    /// Routes that the last entry has resumed.
    resumed: BTreeSet<Arc<str>>,
    pub(super) jobs: StoredJobs,
    pub(super) pending: PendingTasks,
    /// Revisions that are gone, and the entry of their end.
    gone: BTreeMap<u64, EntryPosition>,
    pub(super) last: EntryPosition,
}

/// A task that is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredTask {
    pub(super) seq: u64,
    pub(super) place: Place,
}

/// A route is paused.
#[derive(Debug)]
pub(super) struct StoredPause {
    /// The leadership that has paused it.
    epoch: u64,
    /// A leader has acknowledged that.
    is_acknowledged: bool,
}

impl StoredTask {
    pub(super) const fn is_dead(&self) -> bool {
        matches!(self.place, Place::Dead(_))
    }

    /// Returns whether it died this long before `now`, both in milliseconds.
    pub(super) fn is_old(&self, retention: u64, now: u64) -> bool {
        matches!(self.place, Place::Dead(at) if at + retention <= now)
    }
}

impl StoredShard {
    /// An entry is in the journal.
    pub(super) fn begin(&mut self, entry: EntryPosition) {
        self.last = entry;
        self.resumed.clear();
        self.pending.begin();
    }

    /// The state of a task changes. Returns the one before.
    pub(super) fn replace(
        &mut self,
        name: &TaskName,
        task: Option<StoredTask>,
    ) -> Option<StoredTask> {
        let before = match task {
            Some(task) => self.tasks.insert(name.clone(), task),
            None => self.tasks.remove(name),
        };
        let of_both = before.zip(task);
        if of_both.is_some_and(|(before, task)| before.place != task.place) {
            self.jobs.placed_anew(name);
        }
        let is_same = of_both.is_some_and(|(before, task)| before.seq == task.seq);
        let is_pending = |task: Option<StoredTask>| task.is_some_and(|task| !task.is_dead());
        if is_pending(before) && !(is_same && is_pending(task)) {
            self.pending.remove(name);
        }
        match task {
            Some(task) if !is_same => self.pending.scheduled(task.seq, name),
            Some(_) if is_pending(task) && !is_pending(before) => self.pending.add(name),
            _ => {}
        }
        if let Some(before) = before.filter(|_| !is_same) {
            if before.is_dead() {
                // It can have been kicked before it was removed.
                self.pending.came_for_a_while(name);
            }
            self.gone.insert(before.seq, self.last);
        }
        before
    }

    pub(super) fn pause(&mut self, route: Arc<str>) {
        let pause = StoredPause {
            epoch: self.last.epoch,
            is_acknowledged: false,
        };
        self.paused.insert(route, pause);
    }

    pub(super) fn resume(&mut self, route: Arc<str>) {
        self.paused.remove(&route);
        self.resumed.insert(route);
    }

    /// A leader sends a delivery: of no revision that it knows to be gone, and of no route that it
    /// knows to be paused.
    pub(super) fn check_sent(&self, name: &TaskName, seq: u64, epoch: u64) -> Result<(), String> {
        if let Some(gone) = self.gone.get(&seq)
            && (gone.epoch < epoch || gone.place < self.last.place)
        {
            return Err(format!("{name} is sent, though its revision is gone"));
        }
        match self.paused.get(&name.route) {
            Some(pause) if pause.is_acknowledged || pause.epoch < epoch => {
                Err(format!("{name} is sent, though its route is paused"))
            }
            _ => Ok(()),
        }
    }

    /// A leader acknowledges a pause.
    pub(super) fn check_pause_reply(
        &mut self,
        route: &Arc<str>,
        asked: &SentRequests,
    ) -> Result<(), String> {
        match self.paused.get_mut(route) {
            Some(pause) => {
                // It may be about an earlier pause, which an entry with a new one has ended.
                pause.is_acknowledged |= !asked.may_resume(route);
                Ok(())
            }
            None if asked.may_resume(route) => Ok(()),
            None => Err(format!("the pause of {route} was acknowledged and lost")),
        }
    }

    /// A leader acknowledges that a route is resumed.
    pub(super) fn check_resume_reply(
        &self,
        route: &str,
        asked: &SentRequests,
    ) -> Result<(), String> {
        match self.paused.contains_key(route) && !asked.may_pause(route) {
            true => Err(format!("{route} is paused, though it was resumed")),
            false => Ok(()),
        }
    }

    /// A leader has kicked or removed a dead letter.
    pub(super) fn check_alive_reply(&self, name: &TaskName) -> Result<(), String> {
        match self.tasks.get(name).is_some_and(StoredTask::is_dead) {
            true => Err(format!("{name} is still dead")),
            false => Ok(()),
        }
    }

    /// A leader refuses a request because of a limit.
    pub(super) fn refused(
        &self,
        refusal: &Refusal,
        asked: &SentRequests,
        sent: &TaskTokens,
    ) -> Result<(), String> {
        let route = refusal.route.as_ref().expect("it has a route");
        match (refusal.code, &refusal.id) {
            (Code::TooManyRoutes, None) => {
                let pausing = asked.pausing().filter(|it| *it != route);
                let paused = self.paused.keys().chain(&self.resumed);
                let all: BTreeSet<_> = paused.chain(pausing).collect();
                match all.len() >= Sizes::SMALL.paused_routes {
                    true => Ok(()),
                    false => Err(format!("the pause of {route} is refused: only {all:?}")),
                }
            }
            (Code::Quota, Some(id)) => {
                let (route, id) = (route.clone(), id.clone());
                self.pending.refused(&TaskName { route, id }, sent)
            }
            _ => Ok(()),
        }
    }

    /// All faults are over, and there was time for everything.
    pub(super) fn end(&self, retention: Option<u64>, now: u64) -> Result<(), String> {
        if let Some(route) = self.paused.keys().next() {
            return Err(format!("{route} is still paused"));
        }
        self.jobs.end()?;
        // A pass over the dead letters begins at the latest a second after one of them is old.
        let most = retention.map(|retention| retention + 3_000 + SKEW);
        let is_late = |task: &StoredTask| most.is_some_and(|most| task.is_old(most, now));
        let mut tasks = self.tasks.iter();
        match tasks.find(|(_, task)| is_late(task)) {
            Some((name, _)) => Err(format!("{name} is dead and stays")),
            None => Ok(()),
        }
    }
}
