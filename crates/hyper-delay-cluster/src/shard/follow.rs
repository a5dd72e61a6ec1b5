//! Applying the journal.
//!
//! While nothing can be applied, a node still reads who leads: its clients reach the leader through
//! it, and the watch of the log tells only what changes.

use std::sync::Arc;

use race_wheel::Tick;

use super::{Shard, Stopped, after};
use crate::{
    calls::CallId,
    entry,
    log::{Request, Tail},
    replica::NotApplied,
};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

/// The reads of the journal.
#[derive(Debug)]
pub(super) struct Reading {
    asked: Option<Asked>,
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

/// A read under way.
#[derive(Debug, Clone, Copy)]
struct Asked {
    call: CallId,
    /// The last entry that was applied when it was sent.
    applied: u64,
    /// The leadership that this node had won by then.
    epoch: Option<u64>,
    /// It reads who leads. Entries are of no use.
    is_blind: bool,
}

impl Reading {
    pub(super) const fn new(now: Now) -> Self {
        Self {
            asked: None,
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

    /// These entries are in the journal.
    pub(super) fn hears(&mut self, entries: &[(u64, Arc<[u8]>)]) {
        if let Some((seq, _)) = entries.last() {
            self.end = self.end.max(Some(*seq));
        }
    }

    /// Returns the place from which a blind read names the fewest places. The end of a journal that
    /// was made anew can be before that, so only an answer moves it back.
    fn blind(&self) -> u64 {
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

    /// Reads again as soon as possible. The answer to a read under way does not count.
    pub(super) const fn at_once(&mut self) {
        self.asked = None;
        self.is_urgent = true;
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self.asked.take_if(|asked| asked.call == call).is_some() {
            self.next = again;
            self.is_urgent = false;
        }
    }

    /// Returns whether this read is under way.
    pub(super) fn is_asked(&self, call: CallId) -> bool {
        self.asked.is_some_and(|asked| asked.call == call)
    }

    /// Returns when the next read begins.
    pub(super) const fn next(&self) -> Option<Tick> {
        match self.asked {
            None => Some(self.next),
            Some(_) => None,
        }
    }

    fn is_due(&self, now: Now) -> bool {
        self.asked.is_none() && (self.is_urgent || now.monotonic >= self.next)
    }
}

impl<S: Store> Shard<S> {
    /// Reads the journal from time to time. A leader does not: nobody else appends to it.
    pub(super) fn read(&mut self, now: Now) {
        let is_blind = self.applies_nothing();
        let is_draining = self.is_draining() && !is_blind;
        let is_fed = self.is_leading() || is_draining || self.is_spooling();
        if is_fed || !(is_blind || self.keeping.is_known()) {
            self.reading.next = after(now, self.setup.poll());
            return;
        }
        if !self.reading.is_due(now) {
            return;
        }
        let applied = self.applied();
        let from = match self.reading.is_checked {
            _ if is_blind => self.reading.blind(),
            true => applied + 1,
            false => applied,
        };
        let call = self.call(Request::Tail {
            shard: self.setup.shard,
            from,
            node: self.setup.member.node.clone(),
        });
        self.reading.is_urgent = false;
        self.reading.next = after(now, self.setup.poll());
        self.reading.asked = Some(Asked {
            call,
            applied,
            epoch: self.election.elected().map(|fence| fence.epoch),
            is_blind,
        });
    }

    /// Returns whether no entry is of use at the moment.
    const fn applies_nothing(&self) -> bool {
        self.stopped.is_some() || self.stands_still()
    }

    /// A part of the journal was read.
    pub(super) fn tail_is(&mut self, call: CallId, tail: Tail, now: Now) {
        let Some(asked) = self.reading.asked.take_if(|asked| asked.call == call) else {
            return;
        };
        let applied = self.applied();
        let Tail {
            led,
            first,
            last,
            reported,
            entries,
        } = tail;
        self.reading.end = Some(last);
        self.keeping.log_has(reported);
        self.election.led_is(led, now);
        if asked.is_blind || self.applies_nothing() {
            return;
        }
        if last < asked.applied {
            let applied = asked.applied;
            return self.stop(Stopped::Beyond { last, applied });
        }
        if first > applied + 1 {
            return self.stop(Stopped::Behind { first, applied });
        }
        if let Some((seq, entry)) = entries.first()
            && *seq == applied
            && entry::hash(entry) != self.replica.applied().hash
        {
            return self.stop(NotApplied::Foreign { seq: applied });
        }
        self.reading.is_checked = true;
        self.reading.last = self.reading.last.max(last);
        self.arrived(&entries, now);
        if self.applies_nothing() {
            return;
        }
        if self.applied() < last {
            self.reading.is_urgent = true;
            return;
        }
        // Whoever led before cannot append any more, so this is the end.
        if let Some(fence) = self.election.elected()
            && asked.epoch == Some(fence.epoch)
        {
            self.lead(fence, now);
        }
    }

    /// These entries are in the journal.
    pub(super) fn arrived(&mut self, entries: &[(u64, Arc<[u8]>)], now: Now) {
        self.reading.hears(entries);
        let last = entries.last().map_or(0, |(seq, _)| *seq);
        self.reading.last = self.reading.last.max(last);
        if self.is_leading() || self.stands_still() {
            return;
        }
        let mut rest = entries;
        while !rest.is_empty() {
            let room = match self.room() {
                Ok(room) => room,
                Err(error) => return self.stop(error),
            };
            match self.replica.apply_some(rest, room) {
                Ok(number) => rest = &rest[number..],
                Err(NotApplied::NoRoom(wanted)) => return self.lacks_room(wanted, now),
                Err(NotApplied::Gap { found, applied }) if found <= applied => rest = &rest[1..],
                Err(NotApplied::Gap { .. }) => {
                    self.reading.next = now.monotonic;
                    return;
                }
                Err(error) => return self.stop(error),
            }
        }
    }
}
