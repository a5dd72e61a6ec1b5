//! The contents of journals: tasks, paused routes and bulk operations. Each change has a reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    pending_tasks::TaskTokens,
    sent_requests::SentRequests,
    stored_shard::{EntryPosition, StoredShard, StoredTask},
};
use crate::{
    ShardId,
    entry::{EntryChange, EntryHeader},
    shard_of, shard_of_seq,
    simulation::{checks::TrackedTask, task_name::TaskName},
};
use hyper_delay_engine::{ledger::TaskRevision, sizes::Sizes};
use hyper_delay_protocol::Reply;
use hyper_delay_store::{
    Bytes, Space,
    record::{self, BulkJob, JobAction, Name, Place, key},
};

/// Tasks as the clients know them.
type TrackedTasks = BTreeMap<TaskName, TrackedTask>;

/// See the [module](self).
#[derive(Debug)]
pub(in crate::simulation) struct StoredState {
    number_of_shards: u16,
    /// How long dead letters stay, in milliseconds.
    retention: Option<u64>,
    pub(super) sent_requests: SentRequests,
    pub(super) pending: TaskTokens,
    shards: BTreeMap<ShardId, StoredShard>,
    /// How many tasks bulk operations have moved that have ended.
    moved_together: u64,
    /// Tasks that operators or the retention have ended.
    ended: BTreeSet<TaskName>,
    /// Revisions that a leader has sent to a connection.
    was_sent: BTreeSet<u64>,
}

impl StoredState {
    pub(super) fn new(number_of_shards: u16, retention_seconds: Option<u64>) -> Self {
        Self {
            number_of_shards,
            retention: retention_seconds.map(|seconds| seconds * 1_000),
            sent_requests: SentRequests::default(),
            pending: TaskTokens::default(),
            shards: BTreeMap::new(),
            moved_together: 0,
            ended: BTreeSet::new(),
            was_sent: BTreeSet::new(),
        }
    }

    pub(in crate::simulation) const fn moved_together(&self) -> u64 {
        self.moved_together
    }

    /// The paused routes.
    pub(super) fn paused(&self) -> impl Iterator<Item = &Arc<str>> {
        self.shards.values().flat_map(|shard| shard.paused.keys())
    }

    /// The dead letters.
    pub(super) fn dead(&self) -> impl Iterator<Item = &TaskName> {
        let tasks = self.shards.values().flat_map(|shard| &shard.tasks);
        let dead = tasks.filter(|(_, task)| task.is_dead());
        dead.map(|(name, _)| name)
    }

    /// Returns whether operators or the retention have ended a task.
    pub(in crate::simulation) fn has_ended(&self, name: &TaskName) -> bool {
        self.ended.contains(name)
    }

    fn shard(&mut self, shard: ShardId) -> &mut StoredShard {
        self.shards.entry(shard).or_default()
    }

    /// An entry is in the journal. No clock of a node is later than `now` (Unix milliseconds).
    pub(in crate::simulation) fn appended(
        &mut self,
        (header, change): (&EntryHeader, EntryChange),
        now: u64,
        known: &TrackedTasks,
    ) -> Result<(), String> {
        self.shard(header.shard).begin(EntryPosition {
            place: header.seq,
            epoch: header.epoch,
        });
        let EntryChange::Writes(batch) = change else {
            return Ok(());
        };
        let (mut names, mut meta) = (Vec::new(), Vec::new());
        let mut died = BTreeMap::new();
        for (space, key, value) in batch.into_writes() {
            match space {
                Space::Names => names.push((key, value)),
                Space::Meta => meta.push((key, value)),
                Space::Dead => {
                    let (at, seq) = key::time_of(&key).expect("it has a time");
                    died.insert(seq, at);
                }
                _ => {}
            }
        }
        for (key, value) in names {
            self.name(header.shard, (&key, value), &died, (now, known))?;
        }
        for (key, value) in &meta {
            if let Some(route) = key.strip_prefix(key::PAUSED) {
                self.pause(header.shard, route, value.is_some())?;
            }
        }
        self.jobs(header.shard, &meta, now)?;
        let shard = &self.shards[&header.shard];
        if shard.paused.len() > Sizes::SMALL.paused_routes {
            return Err(format!("{} routes are paused", shard.paused.len()));
        }
        shard.pending.check(&self.pending)
    }

    /// The state of a task changes. `died` has the times of death of the revisions that died in this
    /// entry, or were dead.
    fn name(
        &mut self,
        shard: ShardId,
        (key, value): (&[u8], Option<Bytes>),
        died: &BTreeMap<u64, u64>,
        (now, known): (u64, &TrackedTasks),
    ) -> Result<(), String> {
        let (route, id) = key::name_of(key).expect("it is a name");
        let name = TaskName {
            route: route.into(),
            id: id.into(),
        };
        let task = value.map(|value| {
            let Name { seq, place, .. } = record::decode(&value).expect("it was encoded");
            StoredTask { seq, place }
        });
        let before = self.shard(shard).replace(&name, task);
        match (before, task) {
            (Some(mut before), after) if after.is_none_or(|after| after.seq != before.seq) => {
                // It can die and be removed in one entry, and another task can have its name then.
                if let Some(at) = died.get(&before.seq) {
                    before.place = Place::Dead(*at);
                }
                // An ack or a cancel can have ended it.
                let is_answered = known.get(&name).is_some_and(|known| known.endings > 0);
                if self.may_remove(shard, &name, &before, now) {
                    self.ended.insert(name);
                } else if !is_answered {
                    return Err(format!("{name} is removed, and nobody has ended it"));
                }
                Ok(())
            }
            (Some(before), Some(after))
                if !after.is_dead() && (before.is_dead() || died.contains_key(&before.seq)) =>
            {
                let mut before = before;
                if let Some(at) = died.get(&before.seq).filter(|_| !before.is_dead()) {
                    // It died and was kicked in one entry. Its place was free meanwhile.
                    before.place = Place::Dead(*at);
                    self.shard(shard).pending.left_for_a_while(&name);
                }
                let by_job = self.shards[&shard].jobs.may_change(&name, &before, true);
                match by_job || self.sent_requests.is_kicked(&name) {
                    true => Ok(()),
                    false => Err(format!("{name} was dead, and nobody has kicked it")),
                }
            }
            _ => Ok(()),
        }
    }

    /// Returns whether an operator or the retention may remove a task.
    fn may_remove(&self, shard: ShardId, name: &TaskName, task: &StoredTask, now: u64) -> bool {
        let is_old = self.retention.is_some_and(|most| task.is_old(most, now));
        is_old
            || task.is_dead() && self.sent_requests.is_deleted(name)
            || self.shards[&shard].jobs.may_change(name, task, false)
    }

    /// A route is paused or resumed.
    fn pause(&mut self, shard: ShardId, route: &[u8], is_paused: bool) -> Result<(), String> {
        let route: Arc<str> = key::text_of(route).expect("it is a route").into();
        let is_asked = match is_paused {
            true => self.sent_requests.paused(&route),
            false => self.sent_requests.resumed(&route),
        };
        if !is_asked {
            return Err(format!("nobody has paused or resumed {route}: {is_paused}"));
        }
        match is_paused {
            true => self.shard(shard).pause(route),
            false => self.shard(shard).resume(route),
        }
        Ok(())
    }

    /// Bulk operations begin, continue, or are forgotten. One can end by the entry in which an older
    /// one is forgotten.
    fn jobs(
        &mut self,
        shard: ShardId,
        meta: &[(Bytes, Option<Bytes>)],
        now: u64,
    ) -> Result<(), String> {
        let StoredShard { jobs, tasks, .. } = self.shards.entry(shard).or_default();
        let (mut changed, mut forgotten) = (Vec::new(), Vec::new());
        for (key, value) in meta {
            let Some(number) = key.strip_prefix(key::JOBS) else {
                continue;
            };
            let number = key::number_of(number).expect("it is a number");
            let Some(job) = value else {
                forgotten.push(number);
                continue;
            };
            let job: BulkJob = record::decode(job).expect("it was encoded");
            if job.act == JobAction::Move && job.ended_at > 0 {
                self.moved_together += job.changed;
            }
            jobs.put(number, job, &mut self.sent_requests, tasks)?;
            changed.push(number);
        }
        jobs.check_ended(&changed, tasks, &self.was_sent, now)?;
        jobs.forget(&forgotten, &changed)
    }

    /// A leader sends a delivery.
    pub(in crate::simulation) fn check_sent(
        &mut self,
        revision: &TaskRevision,
        epoch: u64,
    ) -> Result<(), String> {
        let (name, seq) = (TaskName::of(revision), revision.seq);
        self.was_sent.insert(seq);
        // A leader that has been replaced does not know all.
        let shard = self.shards.get(&shard_of_seq(seq));
        let shard = shard.filter(|shard| shard.last.epoch <= epoch);
        shard.map_or(Ok(()), |shard| shard.check_sent(&name, seq, epoch))
    }

    /// A leader answers a request.
    pub(in crate::simulation) fn check_reply(
        &mut self,
        reply: &Reply,
        epoch: u64,
    ) -> Result<(), String> {
        let shard = match reply {
            Reply::Stopped { job, .. } => shard_of_seq(*job),
            Reply::Job(row) => shard_of(&row.route, self.number_of_shards),
            Reply::Paused { route, .. }
            | Reply::Resumed { route, .. }
            | Reply::Kicked { route, .. }
            | Reply::Deleted { route, .. } => shard_of(route, self.number_of_shards),
            Reply::Error(refusal) => match &refusal.route {
                Some(route) => shard_of(route, self.number_of_shards),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let shard = self.shards.get_mut(&shard);
        let Some(shard) = shard.filter(|shard| shard.last.epoch <= epoch) else {
            return Ok(());
        };
        match reply {
            Reply::Paused { route, .. } => shard.check_pause_reply(route, &self.sent_requests),
            Reply::Resumed { route, .. } => shard.check_resume_reply(route, &self.sent_requests),
            Reply::Kicked { id, route, found } | Reply::Deleted { id, route, found } => {
                let (route, id) = (route.clone(), id.clone());
                match found {
                    true => shard.check_alive_reply(&TaskName { route, id }),
                    false => Ok(()),
                }
            }
            Reply::Job(_) | Reply::Stopped { .. } => shard.jobs.check_reply(reply),
            Reply::Error(refusal) => shard.refused(refusal, &self.sent_requests, &self.pending),
            _ => Ok(()),
        }
    }

    /// All faults are over, and there was time for everything.
    pub(in crate::simulation) fn end(&self, now: u64) -> Result<(), String> {
        let mut shards = self.shards.values();
        shards.try_for_each(|shard| shard.end(self.retention, now))
    }
}
