//! Checks of the promises.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    failures::{FailedRounds, SentCopy},
    moves::TrackedMoves,
    node::DEDUPE_MILLIS,
    operators::{SentBulkMoves, StoredState},
    task_name::TaskName,
    world::{CLOCK_ERROR, MILLI, START},
};
use crate::{ShardId, entry, log::Fence, shard::handed_over_copies};
use hyper_delay_engine::{ledger::TaskRevision, scheduler::ConsumerId};
use hyper_delay_protocol::{Due, Reply};

/// A task as the clients know it.
#[derive(Debug, Default)]
pub(super) struct TrackedTask {
    /// The scheduled time. Of a delay, the earliest possible one until the reply has it.
    pub(super) fire_at: u64,
    /// The delay that is scheduled in place of the time, in milliseconds.
    pub(super) delay_ms: Option<u64>,
    /// How often its schedule was sent.
    pub(super) sent: usize,
    /// A schedule was acknowledged.
    pub(super) is_scheduled: bool,
    pub(super) deliveries: usize,
    /// How many acks and cancels of it were sent. If they were not answered, the task can be there or
    /// not.
    pub(super) endings: usize,
    /// It is dead after this many failed rounds.
    pub(super) max_attempts: Option<u32>,
    /// When an ack or a cancel of it was confirmed, in true nanoseconds.
    pub(super) ended: Option<u64>,
    /// The leadership that confirmed it.
    pub(super) confirmed_by: u64,
    pub(super) moves: TrackedMoves,
}

impl TrackedTask {
    /// Sets when the task is due, before its schedule is sent at `now`.
    pub(super) fn set_due(&mut self, due: Due, now: u64) {
        self.delay_ms = due.delay_ms();
        // The clock of the leader counts.
        self.fire_at = due.at(match due {
            Due::At(_) => now,
            Due::After(_) => now - CLOCK_ERROR,
        });
    }

    pub(super) fn due(&self) -> Due {
        self.delay_ms.map_or(Due::At(self.fire_at), Due::After)
    }

    /// Returns whether the task is there for sure: no schedule or end of it is on its way.
    pub(super) const fn can_be_cancelled(&self) -> bool {
        self.is_scheduled && self.sent == 1 && self.endings == 0
    }

    /// Whether the task can have been made anew by `at` after its end: its schedule was repeated, and
    /// arrived when its name was forgotten. A process that is stopped holds it for that long.
    fn may_be_new(&self, ended: u64, at: u64) -> bool {
        self.sent > 1 && at > ended + DEDUPE_MILLIS * MILLI
    }
}

/// The facts of a history.
#[derive(Debug, Default)]
pub(super) struct HistoryChecks {
    pub(super) tasks: BTreeMap<TaskName, TrackedTask>,
    /// The place, the hash and the epoch of the last entry.
    last: BTreeMap<ShardId, (u64, entry::EntryHash, u64)>,
    /// The latest leadership that has begun.
    leads: BTreeMap<ShardId, u64>,
    /// The leaderships that were given up or taken over. No two shards have the same.
    ended_leaderships: BTreeSet<u64>,
    sent: BTreeMap<SentCopy, SentDelivery>,
    /// How many copies were in flight at planned ends.
    handed_over: u64,
    /// How many tasks were moved.
    pub(super) moved: u64,
    /// Without faults: the least time to answer a delivery, in nanoseconds.
    pub(super) time_to_answer: Option<u64>,
    pub(super) bulk_moves: SentBulkMoves,
    failures: FailedRounds,
    /// Some nodes store no failures.
    pub(super) has_older_nodes: bool,
    /// In histories with operators or a retention of dead letters.
    pub(super) stored: Option<Box<StoredState>>,
}

/// A delivery that a leader has sent.
#[derive(Debug, Clone, Copy)]
struct SentDelivery {
    /// The leadership.
    epoch: u64,
    /// When, in true nanoseconds.
    at: u64,
}

impl HistoryChecks {
    /// A leader has sent a delivery to a connection.
    pub(super) fn sent(
        &mut self,
        consumer: ConsumerId,
        revision: &TaskRevision,
        (epoch, at): (u64, u64),
    ) -> Result<(), String> {
        let name = TaskName::of(revision);
        let copy = (consumer, name.clone(), revision.seq, revision.attempt);
        self.sent.insert(copy, SentDelivery { epoch, at });
        self.check_leadership(epoch, &name)?;
        if let Some(stored) = &mut self.stored {
            stored.check_sent(revision, epoch)?;
        }
        let Some(tracked) = self.tasks.get(&name) else {
            return Err(format!("{name} is unknown"));
        };
        // A schedule that was repeated, or an end, can make the task anew, at its first time.
        let is_moved_by_clients = self.bulk_moves.earliest(&name.route).is_none();
        if tracked.sent == 1 && tracked.endings == 0 && is_moved_by_clients {
            let wall = START + at / MILLI + 200;
            tracked.moves.check_sent(&name, wall)?;
        }
        match tracked.ended {
            Some(ended) if !tracked.may_be_new(ended, at) => {
                Err(format!("{name} is sent, though it ended at {ended}"))
            }
            _ => Ok(()),
        }
    }

    /// A client leaves its node: what it has fails.
    pub(super) fn connection_left(&mut self, consumer: ConsumerId) {
        self.failures.connection_left(consumer);
    }

    /// A client gives a delivery back, as failed or not.
    pub(super) fn delivery_returned(
        &mut self,
        consumer: ConsumerId,
        name: &TaskName,
        failed: bool,
    ) {
        self.failures.delivery_returned(consumer, name, failed);
    }

    /// A leadership is given up or taken over: from now on no node may act for it.
    pub(super) fn leadership_ended(&mut self, epoch: u64) {
        self.ended_leaderships.insert(epoch);
    }

    /// A node acts for a leadership.
    fn check_leadership(&self, epoch: u64, name: &TaskName) -> Result<(), String> {
        match self.ended_leaderships.contains(&epoch) {
            true => Err(format!(
                "{name} is delivered for leadership {epoch}, which is over"
            )),
            false => Ok(()),
        }
    }

    /// A delivery is written to a socket, at this wall-clock time at the most. Returns when it was
    /// sent.
    pub(super) fn delivered(
        &mut self,
        (consumer, name): (ConsumerId, &TaskName),
        (seq, attempt): (u64, u32),
        wall: u64,
    ) -> Result<u64, String> {
        let sent = self.sent.get(&(consumer, name.clone(), seq, attempt));
        let SentDelivery { epoch, at } = *sent.ok_or(format!("{name} was not sent"))?;
        self.check_leadership(epoch, name)?;
        let tracked = self.tasks.get_mut(name);
        let tracked = tracked.ok_or(format!("{name} is unknown"))?;
        let moved = tracked.moves.earliest.unwrap_or(u64::MAX);
        let by_operators = self.bulk_moves.earliest(&name.route).unwrap_or(u64::MAX);
        let earliest = tracked.fire_at.min(moved).min(by_operators);
        if wall < earliest {
            return Err(format!("{name} is early: {wall} of {earliest}"));
        }
        if let Some(ended) = tracked.ended
            && epoch < tracked.confirmed_by
        {
            return Err(format!(
                "{name} is delivered for leadership {epoch}, though a later one ended it at {ended}"
            ));
        }
        tracked.deliveries += 1;
        Ok(at)
    }

    /// A schedule is acknowledged. The reply has the time of the first one, while the task is there.
    pub(super) fn scheduled(&mut self, name: &TaskName, fire_at: u64) -> Result<(), String> {
        let may_have_ended = self.may_have_ended(name);
        let tracked = self.tasks.get_mut(name).expect("it was scheduled");
        let is_repeated = std::mem::replace(&mut tracked.is_scheduled, true);
        if may_have_ended {
            return Ok(());
        }
        let is_exact = is_repeated || tracked.delay_ms.is_none();
        if fire_at < tracked.fire_at || is_exact && fire_at != tracked.fire_at {
            let expected = tracked.fire_at;
            return Err(format!("{name} is due at {fire_at} in place of {expected}"));
        }
        tracked.fire_at = fire_at;
        Ok(())
    }

    /// An ack is answered: it has removed its task, or not.
    pub(super) fn acked(&self, name: &TaskName, removed: bool) -> Result<(), String> {
        let tracked = self.tasks.get(name);
        let tracked = tracked.ok_or(format!("{name} is unknown"))?;
        // A dead letter is not in flight any more.
        let is_other =
            tracked.endings > 1 || tracked.max_attempts.is_some() || self.has_ended(name);
        match removed || is_other {
            true => Ok(()),
            false => Err(format!("the only ack of {name} did not remove it")),
        }
    }

    /// A leader answers a request.
    pub(super) fn answered(&mut self, reply: &Reply, epoch: u64) -> Result<(), String> {
        if let Reply::Acked {
            id,
            route: Some(route),
            ..
        }
        | Reply::Cancelled { id, route, .. } = reply
        {
            let (route, id) = (route.clone(), id.clone());
            self.end_confirmed(&TaskName { route, id }, epoch);
        }
        self.note_move(reply);
        match &mut self.stored {
            Some(stored) => stored.check_reply(reply, epoch),
            None => Ok(()),
        }
    }

    /// Returns whether an operator or the retention of dead letters has ended a task.
    fn has_ended(&self, name: &TaskName) -> bool {
        let stored = self.stored.as_ref();
        stored.is_some_and(|stored| stored.has_ended(name))
    }

    /// Returns whether a task can have ended.
    pub(super) fn may_have_ended(&self, name: &TaskName) -> bool {
        self.tasks[name].endings > 0 || self.has_ended(name)
    }

    /// A leader confirms that a task has ended.
    fn end_confirmed(&mut self, name: &TaskName, epoch: u64) {
        if let Some(tracked) = self.tasks.get_mut(name) {
            tracked.confirmed_by = tracked.confirmed_by.max(epoch);
        }
    }

    /// A leader has read the journal to its end, and begins to deliver.
    pub(super) fn leadership_begun(&mut self, fence: Fence) {
        let latest = self.leads.entry(fence.shard).or_default();
        *latest = fence.epoch.max(*latest);
    }

    /// An entry is in the journal, at the end.
    pub(super) fn appended(&mut self, shard: ShardId, bytes: &[u8], at: u64) -> Result<(), String> {
        let header = entry::header(bytes).map_err(|error| error.to_string())?;
        if let Some((seq, hash, epoch)) = self.last.get(&shard) {
            if header.seq != seq + 1 || header.previous != *hash {
                return Err(format!("entry {} does not follow entry {seq}", header.seq));
            }
            if header.epoch < *epoch {
                let found = header.epoch;
                return Err(format!("an entry of epoch {found} follows one of {epoch}"));
            }
        }
        if let Some(epoch) = self.leads.get(&shard).filter(|it| header.epoch < **it) {
            let found = header.epoch;
            return Err(format!(
                "an entry of epoch {found} comes after epoch {epoch} began"
            ));
        }
        self.handed_over += handed_over_copies(bytes) as u64;
        if let Some(time) = self.time_to_answer {
            let early = at.saturating_sub(time);
            let is_late = |copy: &SentCopy| self.sent.get(copy).is_none_or(|sent| sent.at <= early);
            let sent = self.sent.keys();
            let has_older_nodes = self.has_older_nodes;
            self.failures.check(bytes, sent, is_late, has_older_nodes)?;
        }
        if let Some(stored) = &mut self.stored {
            let decoded = entry::decode(bytes).map_err(|error| error.to_string())?;
            let latest = START + at / MILLI + CLOCK_ERROR;
            stored.appended((&header, decoded.1), latest, &self.tasks)?;
        }
        let last = (header.seq, entry::hash(bytes), header.epoch);
        self.last.insert(shard, last);
        Ok(())
    }

    /// Returns how many copies were in flight at planned ends.
    pub(super) const fn handed_over(&self) -> u64 {
        self.handed_over
    }

    /// All faults are over, and there was time for everything. `is_dead` says whether a task is a
    /// dead letter.
    pub(super) fn end(&self, is_dead: impl Fn(&TaskName) -> bool, now: u64) -> Result<(), String> {
        for (name, tracked) in &self.tasks {
            let is_owed = tracked.is_scheduled && tracked.endings == 0 && !self.has_ended(name);
            if is_owed && !(tracked.max_attempts.is_some() && is_dead(name)) {
                let times = tracked.deliveries;
                return Err(format!(
                    "{name} was acknowledged and lost ({times} deliveries)"
                ));
            }
        }
        self.stored
            .as_ref()
            .map_or(Ok(()), |stored| stored.end(now))
    }
}
