//! Spooling the journal from a place on, while the snapshot before it is on its way.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use crate::{
    call_id::CallId,
    log::{JournalTail, LogRequest},
    shard::ShardSetup,
};
use hyper_delay_engine::clock::Now;

/// An entry of the journal, with its place.
pub(in crate::shard) type JournalEntry = (u64, Arc<[u8]>);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct JournalSpooling {
    /// The entry after which the spool begins.
    least: u64,
    /// The last entry that was spooled.
    spooled: u64,
    /// Whether the journal was seen to continue `least`.
    has_begun: bool,
    pending_call: Option<CallId>,
    next: Tick,
}

/// What follows from a part of the journal that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SpooledTail {
    /// The journal begins after what was spooled.
    Trimmed,
    Entries {
        /// Whether the spool begins with this part.
        begins: bool,
        /// The next entries of the spool.
        entries: Vec<JournalEntry>,
    },
}

impl JournalSpooling {
    /// Spools the entries after this one.
    pub(super) const fn new(least: u64, now: Now) -> Self {
        Self {
            least,
            spooled: least,
            has_begun: false,
            pending_call: None,
            next: now.monotonic,
        }
    }

    /// Returns the entry after which the spool begins.
    pub(super) const fn least(&self) -> u64 {
        self.least
    }

    /// Returns the last entry that was spooled.
    pub(super) const fn spooled(&self) -> u64 {
        self.spooled
    }

    /// Returns when the journal is read next.
    pub(super) fn next(&self) -> Option<Tick> {
        self.pending_call.is_none().then_some(self.next)
    }

    /// Returns the request that reads the journal.
    pub(super) fn read(&mut self, call: CallId, setup: &ShardSetup) -> LogRequest {
        self.pending_call = Some(call);
        LogRequest::Tail {
            shard: setup.shard,
            from: self.spooled + 1,
            node: setup.member.node.clone(),
        }
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self.pending_call.take_if(|it| *it == call).is_some() {
            self.next = again;
        }
    }

    /// A part of the journal was read, which is read again after `poll` when it has no more entries.
    /// `None`: it is not the read in flight.
    pub(super) fn tail(
        &mut self,
        call: CallId,
        tail: &JournalTail,
        poll: Duration,
        now: Now,
    ) -> Option<SpooledTail> {
        self.pending_call.take_if(|it| *it == call)?;
        if tail.first > self.spooled + 1 {
            return Some(SpooledTail::Trimmed);
        }
        let begins = !std::mem::replace(&mut self.has_begun, true);
        let entries = self.entries(&tail.entries);
        self.next = match self.spooled < tail.last {
            true => now.monotonic,
            false => now.after(poll),
        };
        Some(SpooledTail::Entries { begins, entries })
    }

    /// These entries are in the journal. Returns those that are the next ones of the spool.
    pub(super) fn entries(&mut self, entries: &[JournalEntry]) -> Vec<JournalEntry> {
        let mut next = Vec::new();
        for (seq, entry) in entries.iter().filter(|_| self.has_begun) {
            if *seq == self.spooled + 1 {
                self.spooled = *seq;
                next.push((*seq, entry.clone()));
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::fixture::{at, setup};

    const POLL: Duration = Duration::from_nanos(5);

    fn entries(seqs: &[u64]) -> Vec<JournalEntry> {
        seqs.iter().map(|seq| (*seq, Arc::from([7_u8]))).collect()
    }

    /// Reads a part of the journal at 0 ns.
    fn read(spooling: &mut JournalSpooling, first: u64, last: u64, seqs: &[u64]) -> SpooledTail {
        spooling.read(CallId(1), &setup());
        let tail = JournalTail {
            leader: None,
            first,
            last,
            reported: None,
            entries: entries(seqs),
        };
        assert_eq!(spooling.tail(CallId(2), &tail, POLL, at(0)), None);
        spooling.tail(CallId(1), &tail, POLL, at(0)).unwrap()
    }

    #[test]
    fn the_spool_has_each_entry_once_and_in_order() {
        let mut spooling = JournalSpooling::new(9, at(0));
        assert_eq!(spooling.entries(&entries(&[10])), [], "it has not begun");
        let expected = SpooledTail::Entries {
            begins: true,
            entries: entries(&[10, 11]),
        };
        assert_eq!(read(&mut spooling, 9, 12, &[9, 10, 11]), expected);
        assert_eq!(spooling.next(), Some(Tick::ZERO), "there is more");
        let expected = SpooledTail::Entries {
            begins: false,
            entries: entries(&[12]),
        };
        assert_eq!(read(&mut spooling, 9, 12, &[12]), expected);
        assert_eq!(spooling.next(), Some(Tick::new(5)));
        let news = entries(&[12, 13, 15]);
        assert_eq!(spooling.entries(&news), entries(&[13]));
        assert_eq!((spooling.least(), spooling.spooled()), (9, 13));
    }

    #[test]
    fn a_journal_that_begins_after_the_spool_is_trimmed() {
        let mut spooling = JournalSpooling::new(9, at(0));
        assert_eq!(read(&mut spooling, 11, 20, &[11]), SpooledTail::Trimmed);
        assert_eq!(spooling.spooled(), 9);
    }

    #[test]
    fn a_read_that_is_not_answered_is_repeated() {
        let mut spooling = JournalSpooling::new(9, at(0));
        let first = spooling.read(CallId(1), &setup());
        assert_eq!(spooling.next(), None);
        spooling.unanswered(CallId(2), Tick::new(20));
        assert_eq!(spooling.next(), None);
        spooling.unanswered(CallId(1), Tick::new(20));
        assert_eq!(spooling.next(), Some(Tick::new(20)));
        assert_eq!(spooling.read(CallId(3), &setup()), first);
    }
}
