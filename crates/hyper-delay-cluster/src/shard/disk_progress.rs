//! The entries on the disk of this node, and its reports of them.

use std::time::Duration;

use race_wheel::Tick;

use super::{Shard, ShardSetup};
use crate::{
    call_id::{CallId, CallIds},
    lease::Term,
    log::LogRequest,
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
    /// Whether this node may report.
    has_term: bool,
    is_persisting: bool,
    next_persist: Tick,
    /// Whether entries are applied that are to be synced.
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

    /// Returns when the next action is due.
    pub(super) fn next(&self) -> Option<Tick> {
        let persist = self.has_changed && !self.is_persisting;
        let report =
            self.has_term && self.pending_report.is_none() && self.reported != Some(self.synced);
        let persist = persist.then_some(self.next_persist);
        let report = report.then_some(self.next_report);
        persist.into_iter().chain(report).min()
    }

    /// Begins a sync if one is due, at most once in `interval`. `applied` is the last entry that may
    /// be synced. Returns whether one begins.
    pub(super) fn begin_sync(&mut self, applied: u64, interval: Duration, now: Now) -> bool {
        self.has_changed = applied > self.synced;
        let is_due = self.has_changed && !self.is_persisting && now.monotonic >= self.next_persist;
        if is_due {
            self.is_persisting = true;
            self.next_persist = now.after(interval);
        }
        is_due
    }

    /// There is nothing to sync.
    pub(super) const fn skip_sync(&mut self) {
        self.has_changed = false;
    }

    /// Returns the report to send now.
    pub(super) fn report(
        &mut self,
        term: Option<Term>,
        setup: &ShardSetup,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        self.has_term = term.is_some();
        let is_due = self.pending_report.is_none()
            && self.reported != Some(self.synced)
            && now.monotonic >= self.next_report;
        let term = term.filter(|_| is_due)?;
        // If it is refused, the lease is not announced yet, or the node is no member any more.
        let pause = match self.is_known && self.reported.is_none() {
            true => setup.poll(),
            false => setup.pause(),
        };
        self.next_report = now.after(pause);
        let call = calls.next();
        self.pending_report = Some((call, self.synced));
        let report = LogRequest::Report {
            shard: setup.shard,
            node: setup.member.node.clone(),
            lease: term.lease,
            synced: self.synced,
        };
        Some((call, report))
    }
}

impl<S: Store> Shard<S> {
    /// Syncs what is applied from time to time, and reports it.
    pub(super) fn sync_and_report(&mut self, now: Now, term: Option<Term>) {
        let (applied, interval) = (self.applied(), self.setup.sync_interval);
        // To sync writes a little, too.
        if self.lacks_disk_space() {
            self.disk_progress.skip_sync();
        } else if self.disk_progress.begin_sync(applied, interval, now) {
            self.effects.persist = Some(self.replica.prepare_sync());
        }
        self.report(now, term);
    }

    /// Reports what is synced, and syncs nothing.
    pub(super) fn report_only(&mut self, now: Now, term: Option<Term>) {
        self.disk_progress.skip_sync();
        self.report(now, term);
    }

    fn report(&mut self, now: Now, term: Option<Term>) {
        let progress = &mut self.disk_progress;
        let report = progress.report(term, &self.setup, &mut self.calls, now);
        self.effects.calls.extend(report);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixture::{at, setup},
        *,
    };
    use crate::log::LeaseId;

    const TERM: Term = Term {
        lease: LeaseId(5),
        until: Tick::new(u64::MAX),
    };
    const INTERVAL: Duration = Duration::from_nanos(40);

    /// Returns the number and the entry of a report.
    fn report(progress: &mut DiskProgress, now: Now) -> Option<(CallId, u64)> {
        let mut calls = CallIds::default();
        match progress.report(Some(TERM), &setup(), &mut calls, now)? {
            (call, LogRequest::Report { synced, .. }) => Some((call, synced)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_sync_at_a_time_runs_at_most_once_in_an_interval() {
        let mut progress = DiskProgress::new(7, at(0));
        assert!(!progress.begin_sync(7, INTERVAL, at(0)), "all is synced");
        assert!(progress.begin_sync(8, INTERVAL, at(10)));
        assert!(!progress.begin_sync(9, INTERVAL, at(90)), "one is running");
        progress.persisted(8);
        assert!(progress.begin_sync(9, INTERVAL, at(90)));
        progress.persisted(9);
        assert!(!progress.begin_sync(10, INTERVAL, at(129)));
        assert_eq!(progress.next(), Some(Tick::new(130)));
        assert!(progress.begin_sync(10, INTERVAL, at(130)));
    }

    #[test]
    fn what_is_synced_is_reported_once() {
        let mut progress = DiskProgress::new(7, at(0));
        let (call, synced) = report(&mut progress, at(0)).unwrap();
        assert_eq!(synced, 7);
        assert_eq!(report(&mut progress, at(9_000_000_000)), None);
        assert!(!progress.is_known());
        progress.reported(call, true);
        assert!(progress.is_known());
        assert_eq!(report(&mut progress, at(9_000_000_000)), None);
        progress.persisted(8);
        let report = report(&mut progress, at(9_000_000_000));
        assert_eq!(report.map(|(_, synced)| synced), Some(8));
    }

    #[test]
    fn a_report_that_the_log_does_not_have_is_repeated() {
        let mut progress = DiskProgress::new(7, at(0));
        let (call, _) = report(&mut progress, at(0)).unwrap();
        progress.set_report_in_log(None);
        progress.unanswered(call, Tick::new(50));
        assert_eq!(report(&mut progress, at(49)), None);
        let (call, _) = report(&mut progress, at(50)).unwrap();
        progress.reported(call, true);
        progress.set_report_in_log(Some(7));
        let later = at(9_000_000_000);
        assert_eq!(report(&mut progress, later), None);
        progress.set_report_in_log(Some(6));
        assert!(report(&mut progress, later).is_some());
    }

    #[test]
    fn a_node_without_a_term_reports_nothing() {
        let mut progress = DiskProgress::new(7, at(0));
        let mut calls = CallIds::default();
        assert_eq!(progress.report(None, &setup(), &mut calls, at(0)), None);
        assert_eq!(progress.next(), None);
    }
}
