//! The reads of the journal of a shard.

use race_wheel::Tick;

use super::{ShardSetup, StopReason, snapshot_fetch::JournalEntry};
use crate::{
    call_id::{CallId, CallIds},
    entry,
    log::{Fence, LogRequest},
    replica::{AppliedEntry, ApplyError},
};
use hyper_delay_engine::clock::Now;

/// See the [module](self).
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
pub(super) struct JournalRead {
    call: CallId,
    sent_at: ReadPosition,
}

/// How far a shard is when it sends a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPosition {
    /// The last entry that is applied.
    pub(super) applied: u64,
    /// The leadership that this node has won.
    pub(super) elected: Option<Fence>,
    /// It reads who leads. Entries are of no use.
    pub(super) is_blind: bool,
}

impl JournalRead {
    /// Returns whether it reads who leads, and entries are of no use.
    pub(super) const fn is_blind(&self) -> bool {
        self.sent_at.is_blind
    }

    /// Checks that what was read continues what is applied: the first and the last place of the
    /// journal, and the first entry that was read.
    pub(super) fn check(
        &self,
        first: u64,
        last: u64,
        entry: Option<&JournalEntry>,
        applied: AppliedEntry,
    ) -> Result<(), StopReason> {
        if last < self.sent_at.applied {
            let applied = self.sent_at.applied;
            return Err(StopReason::Beyond { last, applied });
        }
        let AppliedEntry { seq, hash, .. } = applied;
        if first > seq + 1 {
            return Err(StopReason::Behind {
                first,
                applied: seq,
            });
        }
        match entry {
            Some((found, entry)) if *found == seq && entry::hash(entry) != hash => {
                Err(ApplyError::Foreign { seq }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the leadership that this node had won before the read. The leader before could not
    /// append any more, so an end that was read is the end.
    pub(super) fn elected_before(&self, elected: Option<Fence>) -> Option<Fence> {
        let epoch = self.sent_at.elected?.epoch;
        elected.filter(|fence| fence.epoch == epoch)
    }
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

    /// The journal contains these entries.
    pub(super) fn note_entries(&mut self, entries: &[JournalEntry]) {
        if let Some((seq, _)) = entries.last() {
            self.end = self.end.max(Some(*seq));
            self.last = self.last.max(*seq);
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

    /// Reads again no earlier than at this moment, unless it is urgent.
    pub(super) const fn set_next(&mut self, at: Tick) {
        self.next = at;
    }

    /// Returns the read to send now.
    pub(super) fn request(
        &mut self,
        position: ReadPosition,
        setup: &ShardSetup,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        let is_due = self.is_urgent || now.monotonic >= self.next;
        if self.pending_read.is_some() || !is_due {
            return None;
        }
        let from = match self.is_checked {
            _ if position.is_blind => self.blind_from(),
            true => position.applied + 1,
            false => position.applied,
        };
        let call = calls.next();
        self.is_urgent = false;
        self.next = now.after(setup.poll());
        self.pending_read = Some(JournalRead {
            call,
            sent_at: position,
        });
        let (shard, node) = (setup.shard, setup.member.node.clone());
        Some((call, LogRequest::Tail { shard, from, node }))
    }

    /// The log has named the last entry of the journal. Returns the read that it has answered, if
    /// it is the one in flight.
    pub(super) fn answered(&mut self, call: CallId, last: u64) -> Option<JournalRead> {
        let read = self.pending_read.take_if(|pending| pending.call == call)?;
        self.end = Some(last);
        Some(read)
    }

    /// What was read continues what is applied. `last` is the last entry of the journal.
    pub(super) fn checked(&mut self, last: u64) {
        self.is_checked = true;
        self.last = self.last.max(last);
    }

    /// The journal has more than was read.
    pub(super) const fn read_on(&mut self) {
        self.is_urgent = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::fixture::{at, setup},
        *,
    };
    use crate::{ShardId, log::LeaseId};

    const POSITION: ReadPosition = ReadPosition {
        applied: 7,
        elected: None,
        is_blind: false,
    };

    /// The entry that is applied here.
    const ENTRY: [u8; 1] = [9];

    fn applied(seq: u64) -> AppliedEntry {
        AppliedEntry {
            cluster: 7,
            shard: ShardId(0),
            seq,
            hash: entry::hash(&ENTRY),
            end: 0,
            now: 0,
        }
    }

    fn request(journal: &mut JournalReader, position: ReadPosition, now: Now) -> Option<u64> {
        match journal.request(position, &setup(), &mut CallIds::default(), now)? {
            (CallId(1), LogRequest::Tail { from, .. }) => Some(from),
            other => panic!("{other:?}"),
        }
    }

    fn read(elected: Option<Fence>) -> JournalRead {
        let sent_at = ReadPosition {
            elected,
            ..POSITION
        };
        JournalRead {
            call: CallId(1),
            sent_at,
        }
    }

    #[test]
    fn the_first_read_begins_with_the_last_entry_that_is_applied() {
        let mut journal = JournalReader::new(at(0));
        assert_eq!(request(&mut journal, POSITION, at(0)), Some(7));
        assert_eq!(request(&mut journal, POSITION, at(1 << 40)), None);
        assert!(journal.answered(CallId(2), 7).is_none());
        assert!(journal.answered(CallId(1), 7).is_some());
        assert!(!journal.is_at_the_end(7));
        journal.checked(7);
        assert!(journal.is_at_the_end(7));
        assert_eq!(request(&mut journal, POSITION, at(0)), None, "not yet");
        let poll = at(0).after(setup().poll());
        assert_eq!(request(&mut journal, POSITION, at(poll.value())), Some(8));
    }

    #[test]
    fn a_blind_read_asks_for_no_entry_that_is_known() {
        let blind = ReadPosition {
            is_blind: true,
            ..POSITION
        };
        let mut journal = JournalReader::new(at(0));
        assert_eq!(request(&mut journal, blind, at(0)), Some(u64::MAX));
        journal.note_entries(&[(30, Arc::from(ENTRY))]);
        journal.read_now();
        assert_eq!(request(&mut journal, blind, at(0)), Some(31));
        journal.answered(CallId(1), 20).unwrap();
        journal.read_now();
        assert_eq!(request(&mut journal, blind, at(0)), Some(21), "made anew");
    }

    #[test]
    fn a_journal_must_continue_what_is_applied() {
        let entry = |seq, byte: u8| -> JournalEntry { (seq, Arc::from([byte])) };
        let check = |first, last, entry: Option<&JournalEntry>| {
            read(None).check(first, last, entry, applied(8))
        };
        assert!(check(9, 20, Some(&entry(8, 9))).is_ok());
        assert!(check(1, 7, None).is_ok(), "8 was applied after the read");
        assert!(matches!(
            check(1, 6, None),
            Err(StopReason::Beyond {
                last: 6,
                applied: 7
            })
        ));
        assert!(matches!(
            check(10, 20, None),
            Err(StopReason::Behind {
                first: 10,
                applied: 8
            })
        ));
        assert!(matches!(
            check(1, 20, Some(&entry(8, 5))),
            Err(StopReason::NotApplied(ApplyError::Foreign { seq: 8 }))
        ));
    }

    #[test]
    fn only_a_read_after_the_election_finds_the_end() {
        let fence = |epoch| {
            Some(Fence {
                shard: ShardId(0),
                epoch,
                lease: LeaseId(5),
            })
        };
        assert_eq!(read(None).elected_before(fence(3)), None);
        assert_eq!(read(fence(2)).elected_before(fence(3)), None);
        assert_eq!(read(fence(3)).elected_before(fence(3)), fence(3));
        assert_eq!(read(fence(3)).elected_before(None), None);
    }
}
