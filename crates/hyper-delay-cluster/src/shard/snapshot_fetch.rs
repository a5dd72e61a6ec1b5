//! Fetching a snapshot: the attempts of a shard whose replica cannot continue with the journal.
//!
//! An attempt chooses a node by what all have reported, and *spools* the journal from there on, so
//! that the entries after the snapshot are at hand though the journal may be trimmed beyond it. The
//! snapshot is asked for once the spool has begun.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::ShardSetup;
use crate::{
    call_id::{CallId, CallIds},
    log::{JournalTail, LogRequest, NodeName},
};
use hyper_delay_engine::clock::Now;

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

/// The attempts to get a snapshot.
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

/// An entry of the journal, with its place.
pub(super) type JournalEntry = (u64, Arc<[u8]>);

/// The nodes that can be asked for a snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct SnapshotProviders<'a> {
    pub(super) members: &'a [NodeName],
    /// This node, which is not asked.
    pub(super) own: &'a NodeName,
    /// Asked last: it has other work.
    pub(super) leader: Option<&'a NodeName>,
}

/// What follows from a part of the journal that was read for the spool.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TailOutcome {
    /// The journal begins after what was spooled: the attempt has failed.
    Trimmed,
    Spooled {
        /// The snapshot to ask for now.
        fetch: Option<SnapshotFetch>,
        /// The next entries of the spool.
        entries: Vec<JournalEntry>,
    },
}

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl SnapshotFetchState {
    /// A snapshot is needed from now on. `first` is the first entry of the journal, if it is known.
    pub(super) fn begin(&mut self, first: Option<u64>) {
        self.step = SnapshotFetchStep::default();
        self.first = first.unwrap_or(self.first);
    }

    /// Returns whether the journal is read for the spool, and who leads with it.
    pub(super) const fn is_spooling(&self) -> bool {
        matches!(self.step, SnapshotFetchStep::Spooling(_))
    }

    /// Returns whether this attempt was the last one to begin.
    pub(super) const fn is_last(&self, attempt: u64) -> bool {
        self.attempt == attempt
    }

    /// Returns when something is to be done.
    pub(super) fn next(&self) -> Option<Tick> {
        match &self.step {
            SnapshotFetchStep::Waiting(at) => Some(*at),
            SnapshotFetchStep::Choosing(_) => None,
            SnapshotFetchStep::Spooling(spooling) => {
                spooling.pending_call.is_none().then_some(spooling.next)
            }
        }
    }

    /// Returns the request to send now.
    pub(super) fn request(
        &mut self,
        setup: &ShardSetup,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        self.next().filter(|at| now.monotonic >= *at)?;
        let (call, shard) = (calls.next(), setup.shard);
        let request = match &mut self.step {
            SnapshotFetchStep::Spooling(spooling) => {
                spooling.pending_call = Some(call);
                let (from, node) = (spooling.spooled + 1, setup.member.node.clone());
                LogRequest::Tail { shard, from, node }
            }
            SnapshotFetchStep::Waiting(_) | SnapshotFetchStep::Choosing(_) => {
                self.step = SnapshotFetchStep::Choosing(call);
                LogRequest::Reports(shard)
            }
        };
        Some((call, request))
    }

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

    /// The log has answered what the nodes have. Chooses the node that is asked for a snapshot.
    ///
    /// # Errors
    ///
    /// Why the attempt has failed: no node has a snapshot of use.
    pub(super) fn choose_provider(
        &mut self,
        call: CallId,
        reports: &[(NodeName, u64)],
        providers: SnapshotProviders<'_>,
        now: Now,
    ) -> Result<(), &'static str> {
        if !matches!(self.step, SnapshotFetchStep::Choosing(asked) if asked == call) {
            return Ok(());
        }
        let Some((provider, least)) = self.pick_provider(reports, providers) else {
            return Err(match providers.members.len() {
                0 | 1 => {
                    "the cluster has no other node: save its tasks with `hyper-delay export`, see \
                     \"No whole copy of a shard is left\" in docs/cluster.md"
                }
                _ => {
                    "no other node has synced what the journal has no more: start the nodes that \
                     are down; if all run, see \"No whole copy of a shard is left\" in docs/cluster.md"
                }
            });
        };
        self.attempt += 1;
        self.step = SnapshotFetchStep::Spooling(JournalSpooling {
            provider,
            least,
            spooled: least,
            is_fetched: false,
            pending_call: None,
            next: now.monotonic,
        });
        Ok(())
    }

    /// Returns a node whose snapshot the journal continues, and its last synced entry. Each attempt
    /// asks another one, and the leader comes last.
    fn pick_provider(
        &self,
        reports: &[(NodeName, u64)],
        providers: SnapshotProviders<'_>,
    ) -> Option<(NodeName, u64)> {
        let is_of_use = |(node, synced): &&(NodeName, u64)| {
            let is_member = providers.members.contains(node) && node != providers.own;
            is_member && synced + 1 >= self.first
        };
        let mut givers: Vec<_> = reports.iter().filter(is_of_use).collect();
        givers.sort_by_key(|(node, synced)| (Some(node) == providers.leader, u64::MAX - synced));
        let place = self.failures as usize % givers.len().max(1);
        givers.get(place).map(|giver| (*giver).clone())
    }

    /// A part of the journal was read, which is read again after `poll` when it has no more entries.
    /// `None`: not for the spool.
    pub(super) fn tail(
        &mut self,
        call: CallId,
        tail: &JournalTail,
        poll: Duration,
        now: Now,
    ) -> Option<TailOutcome> {
        let SnapshotFetchStep::Spooling(spooling) = &mut self.step else {
            return None;
        };
        spooling.pending_call.take_if(|asked| *asked == call)?;
        if tail.first > spooling.spooled + 1 {
            self.first = tail.first;
            return Some(TailOutcome::Trimmed);
        }
        let fetch = (!spooling.is_fetched).then(|| SnapshotFetch {
            attempt: self.attempt,
            provider: spooling.provider.clone(),
            least: spooling.least,
        });
        spooling.is_fetched = true;
        let entries = spooling.take_next(&tail.entries);
        spooling.next = match spooling.spooled < tail.last {
            true => now.monotonic,
            false => now.after(poll),
        };
        Some(TailOutcome::Spooled { fetch, entries })
    }

    /// These entries are in the journal. Returns those to be spooled.
    pub(super) fn entries(&mut self, entries: &[JournalEntry]) -> Vec<JournalEntry> {
        match &mut self.step {
            SnapshotFetchStep::Spooling(spooling) if spooling.is_fetched => {
                spooling.take_next(entries)
            }
            _ => Vec::new(),
        }
    }

    /// The attempt has failed. The next one begins after a pause that grows.
    pub(super) fn failed(&mut self, lease: Duration, now: Now) {
        let pause = lease / 8 * 2_u32.saturating_pow(self.failures.min(16));
        self.failures += 1;
        self.step = SnapshotFetchStep::Waiting(now.after(pause.min(LONGEST_PAUSE)));
    }

    /// Returns the last entry that was spooled for the snapshot of this attempt. `None`: a later one
    /// has begun, or it has failed.
    pub(super) const fn spooled_for(&self, attempt: u64) -> Option<u64> {
        match &self.step {
            SnapshotFetchStep::Spooling(spooling) if self.attempt == attempt => {
                Some(spooling.spooled)
            }
            _ => None,
        }
    }

    /// The shard resumes with a snapshot.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.step = SnapshotFetchStep::default();
    }
}

impl JournalSpooling {
    /// Returns those of the entries that follow the spool.
    fn take_next(&mut self, entries: &[JournalEntry]) -> Vec<JournalEntry> {
        let mut next = Vec::new();
        for (seq, entry) in entries {
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
    use super::{
        super::fixture::{at, setup},
        *,
    };

    const LEASE: Duration = Duration::from_secs(2);

    fn entry(seq: u64) -> JournalEntry {
        (seq, Arc::from([7_u8]))
    }

    fn tail(first: u64, last: u64, entries: &[u64]) -> JournalTail {
        JournalTail {
            leader: None,
            first,
            last,
            reported: None,
            entries: entries.iter().map(|seq| entry(*seq)).collect(),
        }
    }

    /// Node `a` fetches a snapshot: the journal begins with entry 10.
    struct World {
        state: SnapshotFetchState,
        calls: CallIds,
        members: [NodeName; 4],
    }

    impl World {
        fn new() -> Self {
            let mut state = SnapshotFetchState::default();
            state.begin(Some(10));
            Self {
                state,
                calls: CallIds::default(),
                members: ["a", "b", "c", "d"].map(NodeName::from),
            }
        }

        fn request(&mut self, now: Now) -> Option<(CallId, LogRequest)> {
            self.state.request(&setup(), &mut self.calls, now)
        }

        /// Begins an attempt. Node `d` leads the shard.
        fn choose(&mut self, reports: &[(&str, u64)], now: Now) -> Result<(), &'static str> {
            let (call, request) = self.request(now).unwrap();
            assert!(matches!(request, LogRequest::Reports(_)));
            let reports = reports.iter().map(|(node, seq)| ((*node).into(), *seq));
            let reports: Vec<_> = reports.collect();
            let [own, .., leader] = &self.members;
            let providers = SnapshotProviders {
                members: &self.members,
                own,
                leader: Some(leader),
            };
            self.state.choose_provider(call, &reports, providers, now)
        }

        /// Reads this part of the journal at 0 ns, with a pause of 5 ns after its end.
        fn read(&mut self, part: &JournalTail) -> TailOutcome {
            let (call, _) = self.request(at(0)).unwrap();
            let poll = Duration::from_nanos(5);
            self.state.tail(call, part, poll, at(0)).unwrap()
        }

        fn provider(&mut self) -> NodeName {
            match self.read(&tail(1, 60, &[])) {
                TailOutcome::Spooled {
                    fetch: Some(fetch), ..
                } => fetch.provider,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn each_attempt_asks_another_node_and_the_leader_last() {
        let mut world = World::new();
        let reports = [("a", 50), ("b", 20), ("c", 30), ("d", 40), ("removed", 60)];
        for provider in ["c", "b", "d", "c"] {
            world.choose(&reports, at(0)).unwrap();
            assert_eq!(world.provider(), provider.into());
            world.state.failed(Duration::ZERO, at(0));
        }
    }

    #[test]
    fn a_node_that_the_journal_does_not_continue_is_not_asked() {
        let mut world = World::new();
        assert!(world.choose(&[("a", 50), ("b", 8)], at(0)).is_err());
        world.state.failed(Duration::ZERO, at(0));
        assert_eq!(world.choose(&[("a", 50), ("b", 9)], at(0)), Ok(()));
        assert_eq!(world.provider(), "b".into());
    }

    #[test]
    fn the_spool_has_each_entry_after_the_snapshot_once_and_in_order() {
        let mut world = World::new();
        world.choose(&[("b", 9)], at(0)).unwrap();
        assert_eq!(world.state.entries(&[entry(10)]), [], "not asked for yet");
        let fetch = SnapshotFetch {
            attempt: 1,
            provider: "b".into(),
            least: 9,
        };
        let expected = TailOutcome::Spooled {
            fetch: Some(fetch),
            entries: vec![entry(10), entry(11)],
        };
        assert_eq!(world.read(&tail(9, 12, &[9, 10, 11])), expected);
        let expected = TailOutcome::Spooled {
            fetch: None,
            entries: vec![entry(12)],
        };
        assert_eq!(world.read(&tail(9, 12, &[12])), expected);
        assert_eq!(world.state.next(), Some(Tick::new(5)), "that was all");
        let news = [entry(12), entry(13), entry(15)];
        assert_eq!(world.state.entries(&news), [entry(13)]);
        assert_eq!(world.state.spooled_for(1), Some(13));
        assert_eq!(world.state.spooled_for(2), None);
    }

    #[test]
    fn a_journal_that_is_trimmed_beyond_the_spool_ends_the_attempt() {
        let mut world = World::new();
        world.choose(&[("b", 9)], at(0)).unwrap();
        assert_eq!(world.read(&tail(11, 20, &[11])), TailOutcome::Trimmed);
        world.state.failed(Duration::ZERO, at(0));
        let reports = [("b", 9), ("c", 10)];
        assert_eq!(world.choose(&reports, at(0)), Ok(()));
        assert_eq!(world.provider(), "c".into(), "b lacks entry 10");
    }

    #[test]
    fn the_pause_between_attempts_grows_to_a_minute() {
        let mut world = World::new();
        for pause in [250, 500, 1_000] {
            world.state.failed(LEASE, at(0));
            let next = at(0).after(Duration::from_millis(pause));
            assert_eq!(world.state.next(), Some(next));
        }
        for _ in 0..40 {
            world.state.failed(LEASE, at(0));
        }
        assert_eq!(world.state.next(), Some(at(0).after(LONGEST_PAUSE)));
        world.state.succeeded();
        world.state.failed(LEASE, at(0));
        let next = at(0).after(Duration::from_millis(250));
        assert_eq!(world.state.next(), Some(next));
    }

    #[test]
    fn a_read_that_is_not_answered_is_repeated() {
        let mut world = World::new();
        world.choose(&[("b", 9)], at(0)).unwrap();
        let (call, first) = world.request(at(0)).unwrap();
        assert_eq!(world.request(at(0)), None);
        world.state.unanswered(call, Tick::new(20));
        assert_eq!(world.request(at(19)), None);
        let (_, second) = world.request(at(20)).unwrap();
        assert_eq!(second, first);
    }
}
