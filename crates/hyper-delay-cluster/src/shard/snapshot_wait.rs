//! A shard that waits for a snapshot of another node, and resumes with it.
//!
//! Meanwhile the shard neither leads nor applies anything here, but knows who leads it.

use std::{io, sync::Arc};

use super::{
    Shard, StopReason,
    disk_progress::DiskProgress,
    journal_reader::JournalReader,
    snapshot_fetch::{JournalEntry, SnapshotProviders, TailOutcome},
    trim::JournalTrimming,
};
use crate::{
    call_id::CallId,
    log::{JournalTail, NodeName},
    replica::Replica,
};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// The shard waits for a snapshot from now on.
    pub(super) fn wait_for_snapshot(&mut self, why: &StopReason) {
        self.election.set_has_store(false);
        self.snapshot_fetch.begin(match why {
            StopReason::Behind { first, .. } => Some(*first),
            _ => None,
        });
        if why.is_damage() {
            // The others must not believe that this node still has what it had.
            self.disk_progress.reset();
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        let stopped = self.stopped.as_ref();
        stopped.is_some_and(StopReason::waits_for_snapshot)
    }

    /// Returns whether the store can be replaced: nothing is written to it any more.
    pub(crate) const fn is_replaceable(&self) -> bool {
        !self.disk_progress.is_persisting()
    }

    /// Returns whether entries that were spooled are still to be applied, before anything else.
    pub(crate) fn is_draining(&self) -> bool {
        self.stopped.is_none() && self.applied() < self.journal.spooled()
    }

    /// Applies what `next` returns: spooled entries from the one after that which it is given, or
    /// none. Returns whether there is more to do.
    pub(crate) fn drain(
        &mut self,
        next: impl FnOnce(u64) -> io::Result<Vec<JournalEntry>>,
        now: Now,
    ) -> bool {
        // Without space the spool would be read in vain, and end.
        if !self.is_draining() || self.lacks_disk_space() {
            return false;
        }
        match next(self.applied()) {
            Ok(entries) if !entries.is_empty() => self.apply_entries(&entries, now),
            // What is missing is read from the journal, if it is still there.
            Ok(_) | Err(_) => self.journal.set_spooled(0),
        }
        true
    }

    /// The nodes have reported this. Chooses the one that is asked for a snapshot.
    pub(super) fn choose_provider(&mut self, call: CallId, reports: &[(NodeName, u64)], now: Now) {
        let providers = SnapshotProviders {
            members: &self.members,
            own: &self.setup.member.node,
            leader: self.election.leader().map(|leader| &leader.member.node),
        };
        let fetch = &mut self.snapshot_fetch;
        if let Err(why) = fetch.choose_provider(call, reports, providers, now) {
            self.fetch_failed(why, now);
        }
    }

    /// A part of the journal was read.
    pub(super) fn spool_tail(&mut self, call: CallId, tail: JournalTail, now: Now) {
        let poll = self.setup.poll();
        let Some(outcome) = self.snapshot_fetch.tail(call, &tail, poll, now) else {
            return;
        };
        self.disk_progress.set_report_in_log(tail.reported);
        self.election.leader_confirmed(tail.leader, now);
        match outcome {
            TailOutcome::Trimmed => self.fetch_failed(
                "the journal was trimmed beyond what this node has spooled",
                now,
            ),
            TailOutcome::Spooled { fetch, entries } => {
                self.effects.fetch = fetch.or(self.effects.fetch.take());
                self.effects.spool.extend(entries);
            }
        }
    }

    /// The snapshot of an attempt does not come, or what was spooled cannot be read.
    pub(super) fn handle_fetch_failure(&mut self, attempt: u64, why: &str, now: Now) {
        if !self.snapshot_fetch.is_last(attempt) {
            return;
        }
        if self.is_waiting() {
            return self.fetch_failed(why, now);
        }
        // What is missing is read from the journal, if it is still there.
        self.journal.set_spooled(0);
    }

    fn fetch_failed(&mut self, why: &str, now: Now) {
        self.snapshot_fetch.failed(self.setup.lease, now);
        self.effects.fetch_failed(why);
    }

    /// Resumes with a store that was made of the snapshot of an attempt. The store must be synced,
    /// and [`is_replaceable`](Self::is_replaceable) must have been true. What was spooled comes
    /// next. Returns whether the attempt is the last one and the store is of use.
    pub(crate) fn replace(&mut self, attempt: u64, store: Arc<S>, now: Now) -> bool {
        let spooled = self.snapshot_fetch.spooled_for(attempt);
        let Some(spooled) = spooled.filter(|_| self.is_waiting()) else {
            return false;
        };
        match Replica::open(store, self.setup.charter, self.setup.shard) {
            Ok(replica) => self.replica = replica,
            Err(error) => {
                self.fetch_failed(&error.to_string(), now);
                return false;
            }
        }
        self.stopped = None;
        self.disk_progress = DiskProgress::new(self.applied(), now);
        self.journal = JournalReader::new(now);
        self.journal.set_spooled(spooled);
        self.trimming = JournalTrimming::default();
        self.election.set_has_store(true);
        self.snapshot_fetch.succeeded();
        true
    }
}
