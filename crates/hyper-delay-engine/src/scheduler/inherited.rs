//! What an earlier leader has delivered, of tasks that have not come up here yet.
//!
//! A new leader is told which copies the connections have, and which tasks were in flight at a
//! planned hand-over. When such a task comes up, it gets a round with what is known of it, instead
//! of another delivery.

use race_wheel::{Key, Tick};
use rustc_hash::FxHashMap;

use super::{
    ConsumerId, GoneCopy,
    round::GivenBack,
    timers::{Timer, Timers},
};

/// The tasks that an earlier leader has delivered and that have not come up, by revision.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    by_seq: FxHashMap<u64, Legacy>,
}

/// What is known of the deliveries of one task.
#[derive(Debug)]
pub(super) struct Legacy {
    /// The connections that have a copy and have not given it back, with the number of its round.
    /// Copies can be among them that were answered, or are late.
    copies: Vec<(ConsumerId, u32)>,
    /// The numbers of the rounds of the copies that have failed.
    failed: Vec<u32>,
    /// How the latest of those rounds has failed.
    given_back: Option<GivenBack>,
    /// How many copies were in flight at a hand-over.
    withheld: u32,
    /// When the task has expired, in Unix milliseconds, if the index was read beyond that.
    expired: Option<u64>,
    /// When the last of the copies ends.
    until: Tick,
    /// Expires then.
    end: Key,
}

impl Legacy {
    /// The connections that may have a copy, with the number of its round.
    pub(super) fn copies(&self) -> &[(ConsumerId, u32)] {
        &self.copies
    }

    /// Whether a connection may have a copy of that round.
    pub(super) fn has(&self, consumer: ConsumerId, attempt: u32) -> bool {
        self.copies.contains(&(consumer, attempt))
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

    /// The number of the latest round after `after` in which a copy has failed.
    pub(super) fn failed_after(&self, after: u32) -> Option<u32> {
        let latest = self.failed.iter().copied().max();
        latest.filter(|attempt| *attempt > after)
    }

    /// How the latest round has failed of which a copy has.
    pub(super) const fn given_back(&self) -> Option<&GivenBack> {
        self.given_back.as_ref()
    }

    /// A copy of that round has failed so.
    fn fail(&mut self, attempt: u32, given_back: GivenBack) {
        let latest = self.failed.iter().copied().max();
        if latest.is_some_and(|latest| latest < attempt) {
            self.given_back = None;
        }
        if latest.is_none_or(|latest| latest <= attempt) {
            given_back.join(&mut self.given_back);
        }
        self.failed.push(attempt);
    }

    pub(super) const fn until(&self) -> Tick {
        self.until
    }
}

impl Inherited {
    pub(super) fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }

    pub(super) fn get(&self, seq: u64) -> Option<&Legacy> {
        self.by_seq.get(&seq)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Legacy)> {
        self.by_seq.iter().map(|(seq, legacy)| (*seq, legacy))
    }

    /// A connection has a copy, which ends then.
    pub(super) fn adopt(
        &mut self,
        seq: u64,
        (consumer, attempt): (ConsumerId, u32),
        until: Tick,
        timers: &mut Timers,
    ) {
        let legacy = self.until(seq, until, timers);
        legacy.copies.push((consumer, attempt));
    }

    /// A copy was in flight at a hand-over, which ends then.
    pub(super) fn withhold(&mut self, seq: u64, until: Tick, timers: &mut Timers) {
        self.until(seq, until, timers).withheld += 1;
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
        Some(self.until(seq, until, timers).until)
    }

    /// A connection has given its copy back, or is closed.
    pub(super) fn failed(&mut self, seq: u64, consumer: ConsumerId, given_back: GivenBack) {
        let Some(legacy) = self.by_seq.get_mut(&seq) else {
            return;
        };
        let mut copies = legacy.copies.iter();
        if let Some(place) = copies.position(|(holder, _)| *holder == consumer) {
            let (_, attempt) = legacy.copies.swap_remove(place);
            legacy.fail(attempt, given_back);
        }
    }

    /// A copy was never sent.
    pub(super) fn voided(&mut self, seq: u64, consumer: ConsumerId) {
        if let Some(legacy) = self.by_seq.get_mut(&seq) {
            legacy.copies.retain(|(holder, _)| *holder != consumer);
            legacy.withheld = legacy.withheld.saturating_sub(1);
        }
    }

    /// A connection that has a copy cannot be reached; `others` have an unanswered one, too.
    pub(super) fn detach(&mut self, seq: u64, consumer: ConsumerId, others: usize) {
        if let Some(legacy) = self.by_seq.get_mut(&seq)
            && legacy.copies.iter().any(|(holder, _)| *holder == consumer)
        {
            legacy.copies.retain(|(holder, _)| *holder != consumer);
            let known = legacy.failed.len() + others + 1;
            let known = u32::try_from(known).unwrap_or(u32::MAX);
            legacy.withheld = known.max(legacy.withheld);
        }
    }

    /// A copy is gone that no connection has reported.
    pub(super) fn gone(&mut self, copy: &GoneCopy) {
        let Some(legacy) = self.by_seq.get_mut(&copy.seq) else {
            return;
        };
        if copy.has_failed {
            legacy.fail(copy.attempt, GivenBack::default());
        } else {
            legacy.withheld = legacy.withheld.saturating_sub(1);
        }
    }

    /// The task has come up, or is done: what is known of it is needed no longer.
    pub(super) fn take(&mut self, seq: u64, timers: &mut Timers) -> Option<Legacy> {
        let legacy = self.by_seq.remove(&seq)?;
        timers.cancel(legacy.end);
        Some(legacy)
    }

    /// A task has expired at this time (Unix milliseconds), and is in flight.
    pub(super) fn expired(&mut self, seq: u64, at: u64) {
        if let Some(legacy) = self.by_seq.get_mut(&seq) {
            legacy.expired = Some(at);
        }
    }

    /// The last of the copies has ended, and the task has not come up. Returns when it has expired, in
    /// Unix milliseconds, if it has.
    pub(super) fn ended(&mut self, seq: u64) -> Option<u64> {
        self.by_seq.remove(&seq)?.expired
    }

    /// What is known of a task, which is kept until then at least.
    fn until(&mut self, seq: u64, until: Tick, timers: &mut Timers) -> &mut Legacy {
        let legacy = self.by_seq.entry(seq).or_insert_with(|| Legacy {
            copies: Vec::new(),
            failed: Vec::new(),
            given_back: None,
            withheld: 0,
            expired: None,
            until,
            end: timers.insert(until, Timer::LegacyEnd(seq)),
        });
        if until > legacy.until {
            timers.cancel(legacy.end);
            legacy.until = until;
            legacy.end = timers.insert(until, Timer::LegacyEnd(seq));
        }
        legacy
    }
}
