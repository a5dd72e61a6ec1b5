//! Applying the journal.
//!
//! While nothing can be applied, a node still reads who leads: its clients reach the leader through
//! it, and the watch of the log has only changes.

use std::sync::Arc;

use race_wheel::Tick;

use super::{Shard, StopReason};
use crate::{
    call_id::CallId,
    entry,
    log::{JournalTail, LogRequest},
    replica::ApplyError,
};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

/// The reads of the journal.
#[derive(Debug)]
pub(super) struct JournalReader {
    pending_read: Option<JournalRead>,
    next: Tick,
    /// Whether the journal was seen to contain the last entry that is applied.
    is_checked: bool,
    /// Whether the next read must begin now: what is known of the journal is not enough.
    is_urgent: bool,
    /// The last entry of the journal that is known.
    last: u64,
    /// The last entry of the journal that was named last. `None`: none was.
    end: Option<u64>,
    /// The entries up to this one were spooled, and are not read from the journal.
    spooled: u64,
}

/// A read in flight.
#[derive(Debug, Clone, Copy)]
struct JournalRead {
    call: CallId,
    /// The last entry that was applied when it was sent.
    applied: u64,
    /// The leadership that this node had won by then.
    epoch: Option<u64>,
    /// It reads who leads. Entries are of no use.
    is_blind: bool,
}

impl JournalReader {
    pub(super) const fn new(now: Now) -> Self {
        Self {
            pending_read: None,
            next: now.monotonic,
            is_checked: false,
            is_urgent: true,
            last: 0,
            end: None,
            spooled: 0,
        }
    }

    pub(super) const fn spooled(&self) -> u64 {
        self.spooled
    }

    /// Applies entries of the journal.
    pub(super) fn note_entries(&mut self, entries: &[(u64, Arc<[u8]>)]) {
        if let Some((seq, _)) = entries.last() {
            self.end = self.end.max(Some(*seq));
        }
    }

    /// Returns the place from which a blind read names the fewest places. The end of a journal that
    /// was made anew can be before that, so only an answer moves it back.
    fn blind_from(&self) -> u64 {
        self.end.map_or(u64::MAX, |end| end + 1)
    }

    /// Returns whether the journal was read, and everything is applied that is known to be there.
    pub(super) const fn is_at_the_end(&self, applied: u64) -> bool {
        self.is_checked && applied >= self.last
    }

    pub(super) fn set_spooled(&mut self, seq: u64) {
        self.spooled = seq;
        self.end = self.end.max(Some(seq));
    }

    /// Reads again as soon as possible. The answer to a read in flight is ignored.
    pub(super) const fn read_now(&mut self) {
        self.pending_read = None;
        self.is_urgent = true;
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self
            .pending_read
            .take_if(|pending| pending.call == call)
            .is_some()
        {
            self.next = again;
            self.is_urgent = false;
        }
    }

    /// Returns whether this read is in flight.
    pub(super) fn is_reading(&self, call: CallId) -> bool {
        self.pending_read
            .is_some_and(|pending| pending.call == call)
    }

    /// Returns when the next read begins.
    pub(super) const fn next(&self) -> Option<Tick> {
        match self.pending_read {
            None => Some(self.next),
            Some(_) => None,
        }
    }

    fn is_due(&self, now: Now) -> bool {
        self.pending_read.is_none() && (self.is_urgent || now.monotonic >= self.next)
    }
}

impl<S: Store> Shard<S> {
    /// Reads the journal from time to time. A leader does not, as no other node appends to it.
    pub(super) fn read(&mut self, now: Now) {
        let is_blind = self.applies_nothing();
        let is_draining = self.is_draining() && !is_blind;
        let is_fed = self.is_leading() || is_draining || self.snapshot_fetch.is_spooling();
        if is_fed || !(is_blind || self.disk_progress.is_known()) {
            self.journal.next = now.after(self.setup.poll());
            return;
        }
        if !self.journal.is_due(now) {
            return;
        }
        let applied = self.applied();
        let from = match self.journal.is_checked {
            _ if is_blind => self.journal.blind_from(),
            true => applied + 1,
            false => applied,
        };
        let call = self.call(LogRequest::Tail {
            shard: self.setup.shard,
            from,
            node: self.setup.member.node.clone(),
        });
        self.journal.is_urgent = false;
        self.journal.next = now.after(self.setup.poll());
        self.journal.pending_read = Some(JournalRead {
            call,
            applied,
            epoch: self.election.elected().map(|fence| fence.epoch),
            is_blind,
        });
    }

    /// Returns whether no entry is of use at the moment.
    const fn applies_nothing(&self) -> bool {
        self.stopped.is_some() || self.lacks_disk_space()
    }

    /// A part of the journal was read.
    pub(super) fn handle_tail(&mut self, call: CallId, tail: JournalTail, now: Now) {
        let Some(pending) = self
            .journal
            .pending_read
            .take_if(|pending| pending.call == call)
        else {
            return;
        };
        let applied = self.applied();
        let JournalTail {
            leader: led,
            first,
            last,
            reported,
            entries,
        } = tail;
        self.journal.end = Some(last);
        self.disk_progress.set_report_in_log(reported);
        self.election.leader_confirmed(led, now);
        if pending.is_blind || self.applies_nothing() {
            return;
        }
        if last < pending.applied {
            let applied = pending.applied;
            return self.stop(StopReason::Beyond { last, applied });
        }
        if first > applied + 1 {
            return self.stop(StopReason::Behind { first, applied });
        }
        if let Some((seq, entry)) = entries.first()
            && *seq == applied
            && entry::hash(entry) != self.replica.applied().hash
        {
            return self.stop(ApplyError::Foreign { seq: applied });
        }
        self.journal.is_checked = true;
        self.journal.last = self.journal.last.max(last);
        self.apply_entries(&entries, now);
        if self.applies_nothing() {
            return;
        }
        if self.applied() < last {
            self.journal.is_urgent = true;
            return;
        }
        // Whoever led before cannot append any more, so this is the end.
        if let Some(fence) = self.election.elected()
            && pending.epoch == Some(fence.epoch)
        {
            self.lead(fence, now);
        }
    }

    /// Applies entries of the journal.
    pub(super) fn apply_entries(&mut self, entries: &[(u64, Arc<[u8]>)], now: Now) {
        self.journal.note_entries(entries);
        let last = entries.last().map_or(0, |(seq, _)| *seq);
        self.journal.last = self.journal.last.max(last);
        if self.is_leading() || self.lacks_disk_space() {
            return;
        }
        let mut rest = entries;
        while !rest.is_empty() {
            let disk_space = match self.disk_space() {
                Ok(disk_space) => disk_space,
                Err(error) => return self.stop(error),
            };
            match self.replica.apply_some(rest, disk_space) {
                Ok(number) => rest = &rest[number..],
                Err(ApplyError::NoRoom(wanted)) => return self.wait_for_disk_space(wanted, now),
                Err(ApplyError::Gap { found, applied }) if found <= applied => rest = &rest[1..],
                Err(ApplyError::Gap { .. }) => {
                    self.journal.next = now.monotonic;
                    return;
                }
                Err(error) => return self.stop(error),
            }
        }
    }
}
