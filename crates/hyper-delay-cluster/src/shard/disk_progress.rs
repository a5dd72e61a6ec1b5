//! The entries on the disk of this node, and its reports of them.

use race_wheel::Tick;

use super::{Shard, after};
use crate::{
    call_id::CallId,
    lease::Term,
    log::{LogRequest, NodeName},
};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

/// The last synced entry of this node. The journal may lose what all nodes have on their disks.
#[derive(Debug)]
pub(super) struct DiskProgress {
    /// The last entry that is on the disk for sure.
    synced: u64,
    /// The report in the log. `None`: there is none, as far as is known.
    reported: Option<u64>,
    /// Whether the others know what this node has. It takes part only then: after a loss that can be
    /// less than they knew before. If the report is gone later, they count on nothing.
    is_known: bool,
    /// The report in flight.
    pending_report: Option<(CallId, u64)>,
    next_report: Tick,
    has_term: bool,
    is_persisting: bool,
    next_persist: Tick,
    has_changed: bool,
}

impl DiskProgress {
    pub(super) const fn new(synced: u64, now: Now) -> Self {
        Self {
            synced,
            reported: None,
            is_known: false,
            pending_report: None,
            next_report: now.monotonic,
            has_term: false,
            is_persisting: false,
            next_persist: now.monotonic,
            has_changed: false,
        }
    }

    /// Returns the last entry that is on the disk.
    pub(super) const fn synced(&self) -> u64 {
        self.synced
    }

    /// Returns whether the others know what this node has.
    pub(super) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// This entry is on the disk.
    pub(super) const fn persisted(&mut self, seq: u64) {
        self.is_persisting = false;
        self.synced = seq;
    }

    /// A report was noted or refused.
    pub(super) fn reported(&mut self, call: CallId, noted: bool) {
        if let Some((_, seq)) = self.pending_report.take_if(|(pending, _)| *pending == call) {
            self.reported = noted.then_some(seq);
            self.is_known |= noted;
        }
    }

    /// The log has this report. A late one can have replaced the last one, or the node was removed
    /// and has joined again; then it is repeated.
    pub(super) const fn set_report_in_log(&mut self, reported: Option<u64>) {
        if self.pending_report.is_none() && self.is_known {
            self.reported = reported;
        }
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self
            .pending_report
            .take_if(|(pending, _)| *pending == call)
            .is_some()
        {
            self.next_report = again;
        }
    }

    /// A sync has ended without a usable result.
    pub(super) const fn sync_ended(&mut self) {
        self.is_persisting = false;
    }

    /// Returns whether the store is being synced.
    pub(super) const fn is_persisting(&self) -> bool {
        self.is_persisting
    }

    /// The contents of the disk cannot be used any more.
    pub(super) const fn reset(&mut self) {
        self.synced = 0;
        self.reported = None;
        self.is_known = false;
        self.pending_report = None;
    }

    /// Returns when something is to be done.
    pub(super) fn next(&self) -> Option<Tick> {
        let persist = self.has_changed && !self.is_persisting;
        let report =
            self.has_term && self.pending_report.is_none() && self.reported != Some(self.synced);
        let persist = persist.then_some(self.next_persist);
        let report = report.then_some(self.next_report);
        persist.into_iter().chain(report).min()
    }
}

impl<S: Store> Shard<S> {
    /// Syncs what is applied from time to time, and reports it.
    pub(super) fn sync_and_report(&mut self, now: Now, term: Option<Term>) {
        let applied = self.applied();
        // To sync writes a little, too.
        let may_write = !self.lacks_disk_space();
        let keeping = &mut self.disk_progress;
        keeping.has_changed = applied > keeping.synced && may_write;
        if keeping.has_changed && !keeping.is_persisting && now.monotonic >= keeping.next_persist {
            keeping.is_persisting = true;
            keeping.next_persist = after(now, self.setup.sync_interval);
            self.effects.persist = Some(self.replica.prepare_sync());
        }
        self.report(now, term);
    }

    /// Reports what is synced, and syncs nothing.
    pub(super) fn report_only(&mut self, now: Now, term: Option<Term>) {
        self.disk_progress.has_changed = false;
        self.report(now, term);
    }

    fn report(&mut self, now: Now, term: Option<Term>) {
        let keeping = &mut self.disk_progress;
        keeping.has_term = term.is_some();
        let synced = keeping.synced;
        let is_due = keeping.pending_report.is_none()
            && keeping.reported != Some(synced)
            && now.monotonic >= keeping.next_report;
        let Some(term) = term.filter(|_| is_due) else {
            return;
        };
        // If it is refused, the lease is not announced yet, or the node is no member any more.
        let pause = match keeping.is_known && keeping.reported.is_none() {
            true => self.setup.poll(),
            false => self.setup.pause(),
        };
        keeping.next_report = after(now, pause);
        let node: NodeName = self.setup.member.node.clone();
        let call = self.call(LogRequest::Report {
            shard: self.setup.shard,
            node,
            lease: term.lease,
            synced,
        });
        self.disk_progress.pending_report = Some((call, synced));
    }
}
