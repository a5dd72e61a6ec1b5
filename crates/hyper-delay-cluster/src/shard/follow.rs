//! Following the journal.
//!
//! While nothing can be applied, a node still reads who leads: its clients reach the leader through
//! it, and the watch of the log has only changes.

use super::{Shard, journal_reader::ReadPosition, snapshot_fetch::JournalEntry};
use crate::{call_id::CallId, log::JournalTail, replica::ApplyError};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// Reads the journal from time to time. A leader does not, as no other node appends to it.
    pub(super) fn read(&mut self, now: Now) {
        let is_blind = self.applies_nothing();
        let is_draining = self.is_draining() && !is_blind;
        let is_fed = self.is_leading() || is_draining || self.snapshot_fetch.is_spooling();
        if is_fed || !(is_blind || self.disk_progress.is_known()) {
            return self.journal.set_next(now.after(self.setup.poll()));
        }
        let position = ReadPosition {
            applied: self.applied(),
            elected: self.election.elected(),
            is_blind,
        };
        let (setup, calls) = (&self.setup, &mut self.calls);
        let request = self.journal.request(position, setup, calls, now);
        self.effects.calls.extend(request);
    }

    /// Returns whether no entry is of use at the moment.
    const fn applies_nothing(&self) -> bool {
        self.stopped.is_some() || self.lacks_disk_space()
    }

    /// A part of the journal was read.
    pub(super) fn handle_tail(&mut self, call: CallId, tail: JournalTail, now: Now) {
        let JournalTail {
            leader,
            first,
            last,
            reported,
            entries,
        } = tail;
        let Some(read) = self.journal.answered(call, last) else {
            return;
        };
        self.disk_progress.set_report_in_log(reported);
        self.election.leader_confirmed(leader, now);
        if read.is_blind() || self.applies_nothing() {
            return;
        }
        let applied = self.replica.applied();
        if let Err(why) = read.check(first, last, entries.first(), applied) {
            return self.stop(why);
        }
        self.journal.checked(last);
        self.apply_entries(&entries, now);
        if self.applies_nothing() {
            return;
        }
        if self.applied() < last {
            return self.journal.read_on();
        }
        if let Some(fence) = read.elected_before(self.election.elected()) {
            self.lead(fence, now);
        }
    }

    /// Applies entries of the journal.
    pub(super) fn apply_entries(&mut self, entries: &[JournalEntry], now: Now) {
        self.journal.note_entries(entries);
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
                Err(ApplyError::Gap { .. }) => return self.journal.set_next(now.monotonic),
                Err(error) => return self.stop(error),
            }
        }
    }
}
