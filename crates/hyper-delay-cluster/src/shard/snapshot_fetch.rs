//! Fetching a snapshot: the replica of this node cannot continue with the journal.
//!
//! An attempt chooses a node by what all have reported, and *spools* the journal from there on, so
//! that the entries after the snapshot are at hand though the journal may be trimmed beyond it. The
//! snapshot is asked for once the spool has begun. Meanwhile the shard neither leads nor applies
//! anything here, but knows who leads it.

use std::{io, sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{Shard, StopReason, after, disk_progress::DiskProgress, trim::JournalTrimming};
use crate::{
    call_id::CallId,
    lease::Term,
    log::{JournalTail, LogRequest, NodeName},
    replica::{ApplyError, Replica},
};
use hyper_delay_engine::{clock::Now, scheduler::NextCall};
use hyper_delay_store::{Store, StoreError};

/// A snapshot that a shard waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SnapshotFetch {
    /// The number of the attempt. A later one replaces it.
    pub attempt: u64,
    /// The node that is asked.
    pub provider: NodeName,
    /// The snapshot must contain this entry: those after it are spooled.
    pub least: u64,
}

/// The state of a shard that waits for a snapshot.
#[derive(Debug, Default)]
pub(super) struct SnapshotFetchState {
    /// The number of the last attempt.
    attempt: u64,
    /// Attempts that have failed since a snapshot was taken.
    failures: u32,
    /// The first entry of the journal, as far as this node knows.
    first: u64,
    step: SnapshotFetchStep,
}

#[derive(Debug)]
enum SnapshotFetchStep {
    /// The next attempt begins then.
    Waiting(Tick),
    /// It is asked what the nodes have.
    Choosing(CallId),
    Spooling(JournalSpooling),
}

impl Default for SnapshotFetchStep {
    fn default() -> Self {
        Self::Waiting(Tick::ZERO)
    }
}

#[derive(Debug)]
struct JournalSpooling {
    provider: NodeName,
    least: u64,
    /// The last entry that was spooled.
    spooled: u64,
    /// Whether the snapshot was asked for.
    is_fetched: bool,
    pending_call: Option<CallId>,
    next: Tick,
}

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl StopReason {
    /// Returns whether the shard resumes with a snapshot of another node.
    pub(crate) fn waits_for_snapshot(&self) -> bool {
        matches!(self, Self::Behind { .. }) || self.is_damage()
    }

    /// Returns whether the contents of the store are the reason.
    pub(crate) fn is_damage(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_corruption)
    }

    /// Returns whether a write in the background is the reason. It can have met damage.
    pub(crate) fn is_background_write(&self) -> bool {
        self.store_error()
            .is_some_and(StoreError::is_background_write)
    }

    const fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::NotApplied(ApplyError::Store(error)) => Some(error),
            _ => None,
        }
    }
}

impl StopReason {
    /// Returns the reason, with the cure if the operator has to do something.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Store(error) | Self::NotApplied(ApplyError::Store(error)) if self.is_damage() => {
                error.reason().to_string()
            }
            why => why.to_string(),
        }
    }
}

impl SnapshotFetchState {
    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        match &mut self.step {
            SnapshotFetchStep::Choosing(asked) if *asked == call => {
                self.step = SnapshotFetchStep::Waiting(again);
            }
            SnapshotFetchStep::Spooling(spooling) if spooling.pending_call == Some(call) => {
                spooling.pending_call = None;
                spooling.next = again;
            }
            _ => {}
        }
    }

    fn next(&self) -> Option<Tick> {
        match &self.step {
            SnapshotFetchStep::Waiting(at) => Some(*at),
            SnapshotFetchStep::Choosing(_) => None,
            SnapshotFetchStep::Spooling(spooling) => {
                spooling.pending_call.is_none().then_some(spooling.next)
            }
        }
    }
}

impl<S: Store> Shard<S> {
    /// The shard waits for a snapshot from now on.
    pub(super) fn wait_for_snapshot(&mut self, why: &StopReason) {
        self.election.set_has_store(false);
        self.snapshot_fetch.step = SnapshotFetchStep::default();
        if let StopReason::Behind { first, .. } = why {
            self.snapshot_fetch.first = *first;
        }
        if why.is_damage() {
            // The others must not believe that this node still has what it had.
            self.disk_progress.reset();
        }
    }

    fn is_waiting(&self) -> bool {
        let stopped = self.stopped.as_ref();
        stopped.is_some_and(StopReason::waits_for_snapshot)
    }

    /// Returns whether the journal is read for the spool, and who leads with it.
    pub(super) const fn is_spooling(&self) -> bool {
        matches!(self.snapshot_fetch.step, SnapshotFetchStep::Spooling(_))
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
        next: impl FnOnce(u64) -> io::Result<Vec<(u64, Arc<[u8]>)>>,
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

    /// Does what a stopped shard still has to do. Returns when the next call must come.
    pub(super) fn tick_stopped(&mut self, now: Now, term: Option<Term>) -> NextCall {
        // It only gives back what it has won.
        self.elect(now, term);
        self.read(now);
        let mut times = vec![self.election.next(), self.journal.next()];
        if self.is_waiting() {
            self.report_only(now, term);
            self.fetch(now);
            times.extend([self.disk_progress.next(), self.snapshot_fetch.next()]);
        }
        let next = times.into_iter().flatten().min();
        next.map_or(NextCall::Never, NextCall::At)
    }

    fn fetch(&mut self, now: Now) {
        let shard = self.setup.shard;
        let node = self.setup.member.node.clone();
        if self
            .snapshot_fetch
            .next()
            .is_none_or(|at| now.monotonic < at)
        {
            return;
        }
        if let SnapshotFetchStep::Spooling(spooling) = &self.snapshot_fetch.step {
            let from = spooling.spooled + 1;
            let call = self.call(LogRequest::Tail { shard, from, node });
            if let SnapshotFetchStep::Spooling(spooling) = &mut self.snapshot_fetch.step {
                spooling.pending_call = Some(call);
            }
        } else {
            let call = self.call(LogRequest::Reports(shard));
            self.snapshot_fetch.step = SnapshotFetchStep::Choosing(call);
        }
    }

    /// Chooses the node that is asked for a snapshot.
    pub(super) fn choose_provider(&mut self, call: CallId, reports: &[(NodeName, u64)], now: Now) {
        if !matches!(self.snapshot_fetch.step, SnapshotFetchStep::Choosing(asked) if asked == call)
        {
            return;
        }
        let Some((provider, least)) = self.pick_provider(reports) else {
            let why = match self.members.len() {
                0 | 1 => {
                    "the cluster has no other node: save its tasks with `hyper-delay export`, see \
                     \"No whole copy of a shard is left\" in docs/cluster.md"
                }
                _ => {
                    "no other node has synced what the journal has no more: start the nodes that \
                     are down; if all run, see \"No whole copy of a shard is left\" in docs/cluster.md"
                }
            };
            return self.fetch_failed(why, now);
        };
        self.snapshot_fetch.attempt += 1;
        self.snapshot_fetch.step = SnapshotFetchStep::Spooling(JournalSpooling {
            provider,
            least,
            spooled: least,
            is_fetched: false,
            pending_call: None,
            next: now.monotonic,
        });
    }

    /// Returns a node whose snapshot the journal continues, and its last synced entry. Each attempt
    /// asks another one, and the leader comes last.
    fn pick_provider(&self, reports: &[(NodeName, u64)]) -> Option<(NodeName, u64)> {
        let leader = self.election.leader().map(|leader| &leader.member.node);
        let is_of_use = |(node, synced): &&(NodeName, u64)| {
            let is_member = self.members.contains(node) && *node != self.setup.member.node;
            is_member && synced + 1 >= self.snapshot_fetch.first
        };
        let mut givers: Vec<_> = reports.iter().filter(is_of_use).collect();
        givers.sort_by_key(|(node, synced)| (Some(node) == leader, u64::MAX - synced));
        let place = self.snapshot_fetch.failures as usize % givers.len().max(1);
        givers.get(place).map(|spooling| (*spooling).clone())
    }

    /// A part of the journal was read.
    pub(super) fn spool_tail(&mut self, call: CallId, tail: JournalTail, now: Now) {
        let poll = self.setup.poll();
        let SnapshotFetchStep::Spooling(spooling) = &mut self.snapshot_fetch.step else {
            return;
        };
        if spooling
            .pending_call
            .take_if(|asked| *asked == call)
            .is_none()
        {
            return;
        }
        self.disk_progress.set_report_in_log(tail.reported);
        self.election.leader_confirmed(tail.leader, now);
        if tail.first > spooling.spooled + 1 {
            self.snapshot_fetch.first = tail.first;
            return self.fetch_failed(
                "the journal was trimmed beyond what this node has spooled",
                now,
            );
        }
        if !std::mem::replace(&mut spooling.is_fetched, true) {
            self.effects.fetch = Some(SnapshotFetch {
                attempt: self.snapshot_fetch.attempt,
                provider: spooling.provider.clone(),
                least: spooling.least,
            });
        }
        self.spool_entries(&tail.entries);
        if let SnapshotFetchStep::Spooling(spooling) = &mut self.snapshot_fetch.step {
            spooling.next = match spooling.spooled < tail.last {
                true => now.monotonic,
                false => after(now, poll),
            };
        }
    }

    /// These entries are in the journal.
    pub(super) fn spool_entries(&mut self, entries: &[(u64, Arc<[u8]>)]) {
        let SnapshotFetchStep::Spooling(spooling) = &mut self.snapshot_fetch.step else {
            return;
        };
        for (seq, entry) in entries.iter().filter(|_| spooling.is_fetched) {
            if *seq == spooling.spooled + 1 {
                spooling.spooled = *seq;
                self.effects.spool.push((*seq, entry.clone()));
            }
        }
    }

    /// The snapshot of an attempt does not come, or what was spooled cannot be read.
    pub(super) fn handle_fetch_failure(&mut self, attempt: u64, why: &str, now: Now) {
        if attempt != self.snapshot_fetch.attempt {
            return;
        }
        if self.is_waiting() {
            return self.fetch_failed(why, now);
        }
        // What is missing is read from the journal, if it is still there.
        self.journal.set_spooled(0);
    }

    /// The attempt has failed. The next one begins after a pause that grows.
    fn fetch_failed(&mut self, why: &str, now: Now) {
        let fetching = &mut self.snapshot_fetch;
        let pause = self.setup.lease / 8 * 2_u32.saturating_pow(fetching.failures.min(16));
        fetching.failures += 1;
        fetching.step = SnapshotFetchStep::Waiting(after(now, pause.min(LONGEST_PAUSE)));
        self.effects.fetch = None;
        self.effects.spool.clear();
        self.effects.fetch_failure = Some(why.to_owned());
    }

    /// Resumes with a store that was made of the snapshot of an attempt. The store must be synced,
    /// and [`is_replaceable`](Self::is_replaceable) must have been true. What was spooled comes
    /// next. Returns whether the attempt is the last one and the store is of use.
    pub(crate) fn replace(&mut self, attempt: u64, store: Arc<S>, now: Now) -> bool {
        let SnapshotFetchStep::Spooling(spooling) = &self.snapshot_fetch.step else {
            return false;
        };
        if attempt != self.snapshot_fetch.attempt || !self.is_waiting() {
            return false;
        }
        let spooled = spooling.spooled;
        match Replica::open(store, self.setup.charter, self.setup.shard) {
            Ok(replica) => self.replica = replica,
            Err(error) => {
                self.fetch_failed(&error.to_string(), now);
                return false;
            }
        }
        self.stopped = None;
        self.disk_progress = DiskProgress::new(self.applied(), now);
        self.journal = super::JournalReader::new(now);
        self.journal.set_spooled(spooled);
        self.trimming = JournalTrimming::default();
        self.election.set_has_store(true);
        self.snapshot_fetch.failures = 0;
        self.snapshot_fetch.step = SnapshotFetchStep::default();
        true
    }
}
