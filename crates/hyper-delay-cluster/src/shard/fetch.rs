//! Waiting for a snapshot: the replica of this node cannot go on with the journal.
//!
//! An attempt chooses a node by what all have reported, and *spools* the journal from there on, so
//! that the entries after the snapshot are at hand though the journal may be trimmed beyond it. The
//! snapshot is asked for once the spool has begun. Meanwhile the shard neither leads nor applies
//! anything here, but knows who leads it.

use std::{io, sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{Shard, Stopped, after, keep::Keeping, trim::Trimming};
use crate::{
    calls::CallId,
    lease::Term,
    log::{NodeName, Request, Tail},
    replica::{NotApplied, Replica},
};
use hyper_delay_engine::{clock::Now, scheduler::Next};
use hyper_delay_store::{Store, StoreError};

/// A snapshot that a shard waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fetch {
    /// The number of the attempt. A later one replaces it.
    pub attempt: u64,
    /// The node that is asked.
    pub giver: NodeName,
    /// The snapshot must contain this entry: those after it are spooled.
    pub least: u64,
}

/// What a shard does that waits for a snapshot.
#[derive(Debug, Default)]
pub(super) struct Fetching {
    /// The number of the last attempt.
    attempt: u64,
    /// Attempts that have failed since a snapshot was taken.
    failures: u32,
    /// The first entry of the journal, as far as this node knows.
    first: u64,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// The next attempt begins then.
    Waiting(Tick),
    /// It is asked what the nodes have.
    Choosing(CallId),
    Spooling(Spooling),
}

impl Default for Step {
    fn default() -> Self {
        Self::Waiting(Tick::ZERO)
    }
}

#[derive(Debug)]
struct Spooling {
    giver: NodeName,
    least: u64,
    /// The last entry that was spooled.
    spooled: u64,
    /// Whether the snapshot was asked for.
    is_fetched: bool,
    asked: Option<CallId>,
    next: Tick,
}

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Stopped {
    /// Returns whether the shard goes on with a snapshot of another node.
    pub(crate) fn waits_for_snapshot(&self) -> bool {
        matches!(self, Self::Behind { .. }) || self.is_damage()
    }

    /// Returns whether the contents of the store are the reason.
    pub(crate) fn is_damage(&self) -> bool {
        self.of_store().is_some_and(StoreError::is_of_contents)
    }

    /// Returns whether a write in the background is the reason. It can have met damage.
    pub(crate) fn is_of_background(&self) -> bool {
        self.of_store().is_some_and(StoreError::is_of_background)
    }

    const fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::NotApplied(NotApplied::Store(error)) => Some(error),
            _ => None,
        }
    }
}

impl Stopped {
    /// Returns the reason, with the cure if the operator has to do something.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Store(error) | Self::NotApplied(NotApplied::Store(error)) if self.is_damage() => {
                error.reason().to_string()
            }
            why => why.to_string(),
        }
    }
}

impl Fetching {
    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        match &mut self.step {
            Step::Choosing(asked) if *asked == call => self.step = Step::Waiting(again),
            Step::Spooling(it) if it.asked == Some(call) => {
                it.asked = None;
                it.next = again;
            }
            _ => {}
        }
    }

    fn next(&self) -> Option<Tick> {
        match &self.step {
            Step::Waiting(at) => Some(*at),
            Step::Choosing(_) => None,
            Step::Spooling(it) => it.asked.is_none().then_some(it.next),
        }
    }
}

impl<S: Store> Shard<S> {
    /// The shard waits for a snapshot from now on.
    pub(super) fn waits(&mut self, why: &Stopped) {
        self.election.has_store(false);
        self.fetching.step = Step::default();
        if let Stopped::Behind { first, .. } = why {
            self.fetching.first = *first;
        }
        if why.is_damage() {
            // The others must not believe that this node still has what it had.
            self.keeping.is_lost();
        }
    }

    fn is_waiting(&self) -> bool {
        let stopped = self.stopped.as_ref();
        stopped.is_some_and(Stopped::waits_for_snapshot)
    }

    /// Returns whether the journal is read for the spool, and who leads with it.
    pub(super) const fn is_spooling(&self) -> bool {
        matches!(self.fetching.step, Step::Spooling(_))
    }

    /// Returns whether the store can be replaced: nothing is written to it any more.
    pub(crate) const fn is_replaceable(&self) -> bool {
        !self.keeping.is_persisting()
    }

    /// Returns whether entries that were spooled are still to be applied, before anything else.
    pub(crate) fn is_draining(&self) -> bool {
        self.stopped.is_none() && self.applied() < self.reading.spooled()
    }

    /// Applies what `next` returns: spooled entries from the one after that which it is given, or
    /// none. Returns whether there is more to do.
    pub(crate) fn drain(
        &mut self,
        next: impl FnOnce(u64) -> io::Result<Vec<(u64, Arc<[u8]>)>>,
        now: Now,
    ) -> bool {
        // Without room the spool would be read in vain, and end.
        if !self.is_draining() || self.stands_still() {
            return false;
        }
        match next(self.applied()) {
            Ok(entries) if !entries.is_empty() => self.arrived(&entries, now),
            // What is missing is read from the journal, if it is still there.
            Ok(_) | Err(_) => self.reading.set_spooled(0),
        }
        true
    }

    /// Does what a stopped shard still has to do. Returns when the next call must come.
    pub(super) fn tick_stopped(&mut self, now: Now, term: Option<Term>) -> Next {
        // It only gives back what it has won.
        self.elect(now, term);
        self.read(now);
        let mut times = vec![self.election.next(), self.reading.next()];
        if self.is_waiting() {
            self.report_only(now, term);
            self.fetch(now);
            times.extend([self.keeping.next(), self.fetching.next()]);
        }
        let next = times.into_iter().flatten().min();
        next.map_or(Next::Never, Next::At)
    }

    fn fetch(&mut self, now: Now) {
        let shard = self.setup.shard;
        let node = self.setup.member.node.clone();
        if self.fetching.next().is_none_or(|at| now.monotonic < at) {
            return;
        }
        if let Step::Spooling(spooling) = &self.fetching.step {
            let from = spooling.spooled + 1;
            let call = self.call(Request::Tail { shard, from, node });
            if let Step::Spooling(spooling) = &mut self.fetching.step {
                spooling.asked = Some(call);
            }
        } else {
            let call = self.call(Request::Reports(shard));
            self.fetching.step = Step::Choosing(call);
        }
    }

    /// Chooses the node that is asked for a snapshot.
    pub(super) fn givers_are(&mut self, call: CallId, reports: &[(NodeName, u64)], now: Now) {
        if !matches!(self.fetching.step, Step::Choosing(asked) if asked == call) {
            return;
        }
        let Some((giver, least)) = self.giver(reports) else {
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
            return self.fails(why, now);
        };
        self.fetching.attempt += 1;
        self.fetching.step = Step::Spooling(Spooling {
            giver,
            least,
            spooled: least,
            is_fetched: false,
            asked: None,
            next: now.monotonic,
        });
    }

    /// Returns a node from which the journal goes on, with what it has synced. Each attempt asks
    /// another one, and the leader comes last.
    fn giver(&self, reports: &[(NodeName, u64)]) -> Option<(NodeName, u64)> {
        let leader = self.election.leader().map(|leader| &leader.member.node);
        let is_of_use = |(node, synced): &&(NodeName, u64)| {
            let is_member = self.members.contains(node) && *node != self.setup.member.node;
            is_member && synced + 1 >= self.fetching.first
        };
        let mut givers: Vec<_> = reports.iter().filter(is_of_use).collect();
        givers.sort_by_key(|(node, synced)| (Some(node) == leader, u64::MAX - synced));
        let place = self.fetching.failures as usize % givers.len().max(1);
        givers.get(place).map(|it| (*it).clone())
    }

    /// A part of the journal was read.
    pub(super) fn spools_tail(&mut self, call: CallId, tail: Tail, now: Now) {
        let poll = self.setup.poll();
        let Step::Spooling(spooling) = &mut self.fetching.step else {
            return;
        };
        if spooling.asked.take_if(|asked| *asked == call).is_none() {
            return;
        }
        self.keeping.log_has(tail.reported);
        self.election.led_is(tail.led, now);
        if tail.first > spooling.spooled + 1 {
            self.fetching.first = tail.first;
            return self.fails(
                "the journal was trimmed beyond what this node has spooled",
                now,
            );
        }
        if !std::mem::replace(&mut spooling.is_fetched, true) {
            self.effects.fetch = Some(Fetch {
                attempt: self.fetching.attempt,
                giver: spooling.giver.clone(),
                least: spooling.least,
            });
        }
        self.spools(&tail.entries);
        if let Step::Spooling(spooling) = &mut self.fetching.step {
            spooling.next = match spooling.spooled < tail.last {
                true => now.monotonic,
                false => after(now, poll),
            };
        }
    }

    /// These entries are in the journal.
    pub(super) fn spools(&mut self, entries: &[(u64, Arc<[u8]>)]) {
        let Step::Spooling(spooling) = &mut self.fetching.step else {
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
    pub(super) fn not_fetched(&mut self, attempt: u64, why: &str, now: Now) {
        if attempt != self.fetching.attempt {
            return;
        }
        if self.is_waiting() {
            return self.fails(why, now);
        }
        // What is missing is read from the journal, if it is still there.
        self.reading.set_spooled(0);
    }

    /// The attempt has failed. The next one begins after a pause that grows.
    fn fails(&mut self, why: &str, now: Now) {
        let fetching = &mut self.fetching;
        let pause = self.setup.lease / 8 * 2_u32.saturating_pow(fetching.failures.min(16));
        fetching.failures += 1;
        fetching.step = Step::Waiting(after(now, pause.min(LONGEST_PAUSE)));
        self.effects.fetch = None;
        self.effects.spool.clear();
        self.effects.unfetched = Some(why.to_owned());
    }

    /// Goes on with a store that was made of the snapshot of an attempt. The store must be synced,
    /// and [`is_replaceable`](Self::is_replaceable) must have been true. What was spooled comes
    /// next. Returns whether the attempt is the last one and the store is of use.
    pub(crate) fn replace(&mut self, attempt: u64, store: Arc<S>, now: Now) -> bool {
        let Step::Spooling(spooling) = &self.fetching.step else {
            return false;
        };
        if attempt != self.fetching.attempt || !self.is_waiting() {
            return false;
        }
        let spooled = spooling.spooled;
        match Replica::open(store, self.setup.charter, self.setup.shard) {
            Ok(replica) => self.replica = replica,
            Err(error) => {
                self.fails(&error.to_string(), now);
                return false;
            }
        }
        self.stopped = None;
        self.keeping = Keeping::new(self.applied(), now);
        self.reading = super::Reading::new(now);
        self.reading.set_spooled(spooled);
        self.trimming = Trimming::default();
        self.election.has_store(true);
        self.fetching.failures = 0;
        self.fetching.step = Step::default();
        true
    }
}
