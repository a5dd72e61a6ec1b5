//! Deliveries of earlier leaders, of tasks that are not loaded here yet.
//!
//! A new leader learns which copies the connections have, and which tasks were in flight at a
//! planned hand-over. When such a task is loaded, it gets a round with what is known of it, instead
//! of another delivery.

use race_wheel::{Key, Tick};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    ConsumerId, GoneCopy,
    consumer_table::ConsumerTable,
    round::CopyEnd,
    timers::{Timer, Timers},
};

/// The tasks that an earlier leader has delivered and that are not loaded.
#[derive(Debug, Default)]
pub(super) struct InheritedDeliveries {
    /// Those that are not acknowledged, by revision.
    by_seq: FxHashMap<u64, InheritedTask>,
    /// Revisions whose ack is on its way to the disk: they can be read before.
    finishing: FxHashSet<u64>,
}

/// The round of a task that an earlier leader has begun, as far as it is known here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InheritedRound {
    /// The connections with an unanswered copy.
    pub(super) live: Vec<ConsumerId>,
    /// The highest number of a round whose copy is unanswered or has failed.
    pub(super) attempt: u32,
}

/// The known deliveries of one task.
#[derive(Debug)]
pub(super) struct InheritedTask {
    /// The connections that have a copy without a nack, with the number of its round.
    /// Copies can be among them that were answered, or are late.
    copies: Vec<(ConsumerId, u32)>,
    /// The numbers of the rounds of the copies that have failed.
    failed: Vec<u32>,
    /// How the latest of those rounds has failed.
    copy_end: Option<CopyEnd>,
    /// How many copies were in flight at a hand-over.
    withheld: u32,
    /// When the task has expired, in Unix milliseconds, if the index was read beyond that.
    expired: Option<u64>,
    /// When the last of the copies ends.
    until: Tick,
    /// Expires then.
    end: Key,
}

impl InheritedTask {
    /// The connections that may have a copy, with the number of its round.
    pub(super) fn copies(&self) -> &[(ConsumerId, u32)] {
        &self.copies
    }

    /// How many copies were in flight at a hand-over.
    pub(super) const fn withheld(&self) -> u32 {
        self.withheld
    }

    /// How many copies no connection has reported, or has let pass: all but the `live` ones and
    /// those that have failed in a round after `after`.
    pub(super) fn missing(&self, after: u32, live: usize) -> u32 {
        self.withheld
            .saturating_sub(self.failures_after(after))
            .saturating_sub(u32::try_from(live).unwrap_or(u32::MAX))
    }

    /// How many copies have failed in a round after `after`.
    pub(super) fn failures_after(&self, after: u32) -> u32 {
        let failed = self.failed.iter().filter(|attempt| **attempt > after);
        u32::try_from(failed.count()).unwrap_or(u32::MAX)
    }

    /// Returns the round after `after` of the task with that revision, which is loaded now. `None` if
    /// there is none: the task is due.
    pub(super) fn round_after(
        &self,
        after: u32,
        seq: u64,
        now: Tick,
        consumers: &ConsumerTable,
    ) -> Option<InheritedRound> {
        let live: Vec<(ConsumerId, u32)> = self.live_after(after, seq, consumers).collect();
        let failed = self.latest_failed_after(after);
        let is_missing = self.until > now && self.missing(after, live.len()) > 0;
        if live.is_empty() && failed.is_none() && !is_missing {
            return None;
        }
        let attempts = live.iter().map(|(_, attempt)| *attempt).chain(failed);
        Some(InheritedRound {
            attempt: attempts.max().unwrap_or(after),
            live: live.into_iter().map(|(consumer, _)| consumer).collect(),
        })
    }

    /// The unanswered copies of the rounds after `after`.
    fn live_after(
        &self,
        after: u32,
        seq: u64,
        consumers: &ConsumerTable,
    ) -> impl Iterator<Item = (ConsumerId, u32)> {
        let copies = self.copies.iter().copied();
        copies.filter(move |(consumer, attempt)| {
            let state = consumers.get(*consumer);
            *attempt > after && state.is_some_and(|state| state.in_flight_copy(seq).is_some())
        })
    }

    /// When the last of the copies ends that no connection has reported. `None`: there are none.
    pub(super) fn unreported_until(&self) -> Option<Tick> {
        (self.missing(0, 0) > 0).then_some(self.until)
    }

    /// The number of the latest round after `after` in which a copy has failed.
    fn latest_failed_after(&self, after: u32) -> Option<u32> {
        let latest = self.failed.iter().copied().max();
        latest.filter(|attempt| *attempt > after)
    }

    /// How the latest round has failed of which a copy has.
    pub(super) const fn copy_end(&self) -> Option<&CopyEnd> {
        self.copy_end.as_ref()
    }

    /// A copy of that round has failed so.
    fn fail(&mut self, attempt: u32, copy_end: CopyEnd) {
        let latest = self.failed.iter().copied().max();
        if latest.is_some_and(|latest| latest < attempt) {
            self.copy_end = None;
        }
        if latest.is_none_or(|latest| latest <= attempt) {
            copy_end.merge_into(&mut self.copy_end);
        }
        self.failed.push(attempt);
    }

    pub(super) const fn until(&self) -> Tick {
        self.until
    }
}

impl InheritedDeliveries {
    /// Whether no task is known that an earlier leader has delivered.
    pub(super) fn is_empty(&self) -> bool {
        self.by_seq.is_empty() && self.finishing.is_empty()
    }

    /// An ack is on its way to the disk, of a task that is not in memory.
    pub(super) fn begin_finish(&mut self, seq: u64) {
        self.finishing.insert(seq);
    }

    /// Whether an ack is on its way to the disk, of a task that was not in memory.
    pub(super) fn is_finishing(&self, seq: u64) -> bool {
        self.finishing.contains(&seq)
    }

    /// An ack is on disk.
    pub(super) fn end_finish(&mut self, seq: u64) {
        if !self.finishing.is_empty() {
            self.finishing.remove(&seq);
        }
    }

    /// Whether connections may have copies of a task that is not loaded, or its ack is on its way to
    /// the disk.
    pub(super) fn is_in_flight(&self, seq: u64, now: Tick, consumers: &ConsumerTable) -> bool {
        let is_unanswered = self.get(seq).is_some_and(|inherited| {
            let is_missing = inherited.until > now && inherited.missing(0, 0) > 0;
            is_missing || inherited.live_after(0, seq, consumers).next().is_some()
        });
        is_unanswered || self.is_finishing(seq)
    }

    /// When the time to answer a copy ends that a connection has of that round. `None` if it has none.
    pub(super) fn until_of(&self, seq: u64, holder: (ConsumerId, u32)) -> Option<Tick> {
        let inherited = self.get(seq)?;
        let has_copy = inherited.copies.contains(&holder);
        has_copy.then_some(inherited.until)
    }

    pub(super) fn get(&self, seq: u64) -> Option<&InheritedTask> {
        self.by_seq.get(&seq)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &InheritedTask)> {
        self.by_seq.iter().map(|(seq, inherited)| (*seq, inherited))
    }

    /// A connection has a copy, which ends then.
    pub(super) fn adopt(
        &mut self,
        seq: u64,
        (consumer, attempt): (ConsumerId, u32),
        until: Tick,
        timers: &mut Timers,
    ) {
        let inherited = self.entry_until(seq, until, timers);
        inherited.copies.push((consumer, attempt));
    }

    /// A copy was in flight at a hand-over, which ends then.
    pub(super) fn withhold(&mut self, seq: u64, until: Tick, timers: &mut Timers) {
        self.entry_until(seq, until, timers).withheld += 1;
    }

    /// A copy that a connection has ends later. Returns when; `None` if it has none.
    pub(super) fn extend(
        &mut self,
        seq: u64,
        consumer: ConsumerId,
        until: Tick,
        timers: &mut Timers,
    ) -> Option<Tick> {
        let mut copies = self.get(seq)?.copies.iter();
        copies.find(|(holder, _)| *holder == consumer)?;
        Some(self.entry_until(seq, until, timers).until)
    }

    /// A connection has returned its copy with a nack, or is closed.
    pub(super) fn fail_copy(&mut self, seq: u64, consumer: ConsumerId, copy_end: CopyEnd) {
        let Some(inherited) = self.by_seq.get_mut(&seq) else {
            return;
        };
        let mut copies = inherited.copies.iter();
        if let Some(place) = copies.position(|(holder, _)| *holder == consumer) {
            let (_, attempt) = inherited.copies.swap_remove(place);
            inherited.fail(attempt, copy_end);
        }
    }

    /// A copy was never sent.
    pub(super) fn void_copy(&mut self, seq: u64, consumer: ConsumerId) {
        if let Some(inherited) = self.by_seq.get_mut(&seq) {
            inherited.copies.retain(|(holder, _)| *holder != consumer);
            inherited.withheld = inherited.withheld.saturating_sub(1);
        }
    }

    /// A connection that has a copy cannot be reached: it is closed here, and is none of `consumers`.
    pub(super) fn detach(&mut self, seq: u64, consumer: ConsumerId, consumers: &ConsumerTable) {
        let inherited = self.get(seq);
        let others = inherited.map_or(0, |it| it.live_after(0, seq, consumers).count());
        if let Some(inherited) = self.by_seq.get_mut(&seq)
            && inherited
                .copies
                .iter()
                .any(|(holder, _)| *holder == consumer)
        {
            inherited.copies.retain(|(holder, _)| *holder != consumer);
            let known = inherited.failed.len() + others + 1;
            let known = u32::try_from(known).unwrap_or(u32::MAX);
            inherited.withheld = known.max(inherited.withheld);
        }
    }

    /// A copy is gone that no connection has reported.
    pub(super) fn remove_gone_copy(&mut self, copy: &GoneCopy) {
        let Some(inherited) = self.by_seq.get_mut(&copy.seq) else {
            return;
        };
        if copy.has_failed {
            inherited.fail(copy.attempt, CopyEnd::default());
        } else {
            inherited.withheld = inherited.withheld.saturating_sub(1);
        }
    }

    /// Removes and returns what is known of a task, which is loaded now, or done.
    pub(super) fn take(&mut self, seq: u64, timers: &mut Timers) -> Option<InheritedTask> {
        let inherited = self.by_seq.remove(&seq)?;
        timers.cancel(inherited.end);
        Some(inherited)
    }

    /// A task has expired at this time (Unix milliseconds). Returns whether it is in flight: it stays
    /// until its copies have ended.
    pub(super) fn set_expired(
        &mut self,
        seq: u64,
        at: u64,
        now: Tick,
        consumers: &ConsumerTable,
    ) -> bool {
        let is_in_flight = self.is_in_flight(seq, now, consumers);
        if let Some(inherited) = self.by_seq.get_mut(&seq).filter(|_| is_in_flight) {
            inherited.expired = Some(at);
        }
        is_in_flight
    }

    /// The last of the copies has ended, and the task is not loaded. Returns when it has expired,
    /// in Unix milliseconds, if it has.
    pub(super) fn remove_ended(&mut self, seq: u64) -> Option<u64> {
        self.by_seq.remove(&seq)?.expired
    }

    /// Returns what is known of a task, and keeps it until then at least.
    fn entry_until(&mut self, seq: u64, until: Tick, timers: &mut Timers) -> &mut InheritedTask {
        let inherited = self.by_seq.entry(seq).or_insert_with(|| InheritedTask {
            copies: Vec::new(),
            failed: Vec::new(),
            copy_end: None,
            withheld: 0,
            expired: None,
            until,
            end: timers.insert(until, Timer::InheritedEnd(seq)),
        });
        if until > inherited.until {
            timers.cancel(inherited.end);
            inherited.until = until;
            inherited.end = timers.insert(until, Timer::InheritedEnd(seq));
        }
        inherited
    }
}

#[cfg(test)]
mod tests;
