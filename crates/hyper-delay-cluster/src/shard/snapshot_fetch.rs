//! Fetching a snapshot: the attempts of a shard whose replica cannot continue with the journal.
//!
//! An attempt chooses a node by what all have reported, and *spools* the journal from there on, so
//! that the entries after the snapshot are at hand though the journal may be trimmed beyond it. The
//! snapshot is asked for once the spool has begun.

mod journal_spooling;
mod providers;

use std::time::Duration;

use race_wheel::Tick;

use super::ShardSetup;
use crate::{
    call_id::{CallId, CallIds},
    log::{JournalTail, LogRequest, NodeName},
};
use hyper_delay_engine::clock::Now;
pub(super) use journal_spooling::JournalEntry;
use journal_spooling::{JournalSpooling, SpooledTail};
pub(super) use providers::SnapshotProviders;

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
    /// The journal is spooled, and this node gives the snapshot.
    Spooling(JournalSpooling, NodeName),
}

impl Default for SnapshotFetchStep {
    fn default() -> Self {
        Self::Waiting(Tick::ZERO)
    }
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
        matches!(self.step, SnapshotFetchStep::Spooling(..))
    }

    /// Returns whether this attempt was the last one to begin.
    pub(super) const fn is_last(&self, attempt: u64) -> bool {
        self.attempt == attempt
    }

    /// Returns when the next action is due.
    pub(super) fn next(&self) -> Option<Tick> {
        match &self.step {
            SnapshotFetchStep::Waiting(at) => Some(*at),
            SnapshotFetchStep::Choosing(_) => None,
            SnapshotFetchStep::Spooling(spooling, _) => spooling.next(),
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
        let call = calls.next();
        let request = match &mut self.step {
            SnapshotFetchStep::Spooling(spooling, _) => spooling.read(call, setup),
            SnapshotFetchStep::Waiting(_) | SnapshotFetchStep::Choosing(_) => {
                self.step = SnapshotFetchStep::Choosing(call);
                LogRequest::Reports(setup.shard)
            }
        };
        Some((call, request))
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        match &mut self.step {
            SnapshotFetchStep::Choosing(asked) if *asked == call => {
                self.step = SnapshotFetchStep::Waiting(again);
            }
            SnapshotFetchStep::Spooling(spooling, _) => spooling.unanswered(call, again),
            SnapshotFetchStep::Waiting(_) | SnapshotFetchStep::Choosing(_) => {}
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
        let provider = providers.pick(reports, self.first, self.failures);
        let (provider, least) = provider.ok_or_else(|| providers.none_reason())?;
        self.attempt += 1;
        let spooling = JournalSpooling::new(least, now);
        self.step = SnapshotFetchStep::Spooling(spooling, provider);
        Ok(())
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
        let SnapshotFetchStep::Spooling(spooling, provider) = &mut self.step else {
            return None;
        };
        Some(match spooling.tail(call, tail, poll, now)? {
            SpooledTail::Trimmed => {
                self.first = tail.first;
                TailOutcome::Trimmed
            }
            SpooledTail::Entries { begins, entries } => TailOutcome::Spooled {
                fetch: begins.then(|| SnapshotFetch {
                    attempt: self.attempt,
                    provider: provider.clone(),
                    least: spooling.least(),
                }),
                entries,
            },
        })
    }

    /// These entries are in the journal. Returns those to be spooled.
    pub(super) fn entries(&mut self, entries: &[JournalEntry]) -> Vec<JournalEntry> {
        match &mut self.step {
            SnapshotFetchStep::Spooling(spooling, _) => spooling.entries(entries),
            SnapshotFetchStep::Waiting(_) | SnapshotFetchStep::Choosing(_) => Vec::new(),
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
            SnapshotFetchStep::Spooling(spooling, _) if self.attempt == attempt => {
                Some(spooling.spooled())
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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

        /// Returns the node that is asked for the snapshot.
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
    fn a_snapshot_is_asked_for_once_in_an_attempt_when_its_spool_begins() {
        let mut world = World::new();
        world.choose(&[("b", 9)], at(0)).unwrap();
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
        assert_eq!(world.state.spooled_for(1), Some(12));
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
}
