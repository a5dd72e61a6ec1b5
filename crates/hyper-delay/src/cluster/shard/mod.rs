//! A shard on one node: a state machine without threads, network and clock.
//!
//! It is told what has happened ([`Event`]) and what time it is, and returns what is to be done
//! ([`Effects`]). It follows the journal of the shard, leads the shard when nobody else does, and
//! then runs the scheduler of its tasks.

mod append;
mod audience;
mod elect;
mod follow;
mod keep;
mod lead;
mod trim;

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    Charter, ShardId,
    calls::{CallId, Calls},
    forward::wire::{ToLeader, ToServing},
    lease::Term,
    log::{Answer, Fence, Leader, Member, NodeName, Request, Unanswered},
    replica::{NotApplied, Persisting, Replica},
};
use crate::{
    clock::{Now, nanos},
    scheduler::{Next, Settings},
    store::{Store, StoreError},
};
pub(crate) use audience::PeerId;

use audience::Audience;
use elect::Election;
use follow::Reading;
use keep::Keeping;
use lead::Leading;
use trim::Trimming;

/// What does not change while a node runs.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) charter: Charter,
    pub(crate) shard: ShardId,
    /// This node.
    pub(crate) member: Member,
    pub(crate) settings: Settings,
    /// How long the names of finished tasks are kept, in milliseconds.
    pub(crate) dedupe_millis: u64,
    /// The lease of a node lasts this long.
    pub(crate) lease: Duration,
    /// A group of changes ends when its rows have this many bytes.
    pub(crate) group_bytes: usize,
    /// Beyond this many bytes of the journal, a minority of the nodes that is behind is left behind.
    pub(crate) retention: u64,
    /// What is applied is synced this often.
    pub(crate) sync_interval: Duration,
}

impl Setup {
    /// The pause before a request is repeated.
    fn pause(&self) -> Duration {
        self.lease / 64
    }

    /// How often the end of the journal is read, in case that the news of it are late.
    fn poll(&self) -> Duration {
        self.lease / 4
    }
}

/// What has happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// The log has answered, or not.
    Answered(CallId, Result<Answer, Unanswered>),
    /// These entries are in the journal.
    Entries(Vec<(u64, Arc<[u8]>)>),
    /// Who leads the shard, as it became known: it may be outdated.
    Leader(Option<Leader>),
    /// What is applied up to this entry is on the disk of this node.
    Persisted(Result<u64, StoreError>),
    /// A serving node says something to the leader.
    Peer(PeerId, ToLeader),
    /// The link from a serving node is broken.
    PeerIsGone(PeerId),
    /// This node is about to end: the shard is led no longer.
    HandOver,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Effects<S> {
    /// Requests to the log.
    pub calls: Vec<(CallId, Request)>,
    /// Messages to serving nodes, in this order for each.
    pub told: Vec<(PeerId, ToServing)>,
    /// The leadership has changed.
    pub changes: Vec<Leadership>,
    /// To be run on a thread that may block.
    pub persist: Option<Persisting<S>>,
}

/// A change of what this node leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leadership {
    /// It leads the shard from now on.
    Begins(Fence),
    /// It does not any more. Requests that are under way are not answered: whether they were carried
    /// out is not known.
    Ends(Fence),
}

/// Why a shard does nothing any more on this node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// What is on the disk cannot be used with the journal, or the disk has failed.
    #[error(transparent)]
    NotApplied(#[from] NotApplied),
    /// The store has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal ends before what this node has applied.
    #[error(
        "the journal ends with entry {last}, and this node has applied entry {applied}: it was \
         restored or made anew. Stop the node, move its data_dir away, and start it again: it takes \
         the tasks from another node"
    )]
    Beyond {
        /// The last entry of the journal.
        last: u64,
        /// The last one that is applied here.
        applied: u64,
    },
    /// The journal begins after what this node has applied.
    #[error("the journal begins with entry {first}, and this node has applied entry {applied}")]
    Behind {
        /// The first entry of the journal.
        first: u64,
        /// The last one that is applied here.
        applied: u64,
    },
}

/// A shard on this node. See the [module](self).
#[derive(Debug)]
pub(crate) struct Shard<S: Store> {
    setup: Setup,
    replica: Replica<S>,
    calls: Calls,
    members: Arc<[NodeName]>,
    keeping: Keeping,
    reading: Reading,
    election: Election,
    leading: Option<Box<Leading<S>>>,
    audience: Audience,
    trimming: Trimming,
    stopped: Option<Stopped>,
    effects: Effects<S>,
}

impl<S> Default for Effects<S> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            told: Vec::new(),
            changes: Vec::new(),
            persist: None,
        }
    }
}

impl<S: Store> Shard<S> {
    /// Creates a shard from what its store contains.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or belongs to another cluster or shard.
    pub(crate) fn open(
        store: Arc<S>,
        setup: Setup,
        members: Arc<[NodeName]>,
        now: Now,
    ) -> Result<Self, NotApplied> {
        let replica = Replica::open(store, setup.charter, setup.shard)?;
        Ok(Self {
            keeping: Keeping::new(replica.applied().seq, now),
            reading: Reading::new(now),
            election: Election::default(),
            leading: None,
            audience: Audience::default(),
            trimming: Trimming::default(),
            stopped: None,
            calls: Calls::default(),
            members,
            replica,
            setup,
            effects: Effects::default(),
        })
    }

    /// Something has happened.
    pub(crate) fn handle(&mut self, event: Event, now: Now, term: Option<Term>) {
        self.check_term(now, term);
        if self.stopped.is_some() {
            return;
        }
        match event {
            Event::Answered(call, answer) => self.answered(call, answer, now),
            Event::Entries(entries) => self.arrived(&entries, now),
            Event::Leader(leader) => self.election.leader_is(leader, now),
            Event::Persisted(Ok(seq)) => self.keeping.persisted(seq),
            Event::Persisted(Err(error)) => self.stop(error),
            Event::Peer(peer, message) => self.peer_says(peer, message, now, term),
            Event::PeerIsGone(peer) => self.peer_is_gone(peer, now),
            Event::HandOver => self.hand_over(),
        }
        self.advance(now, term);
    }

    /// Time has passed. Returns when the next call must come at the latest.
    pub(crate) fn tick(&mut self, now: Now, term: Option<Term>) -> Next {
        self.check_term(now, term);
        if self.stopped.is_some() {
            return Next::Never;
        }
        let scheduler = self.tick_scheduler(now);
        self.advance(now, term);
        if matches!(scheduler, Next::Now) {
            return Next::Now;
        }
        let scheduler = match scheduler {
            Next::At(at) => Some(at),
            Next::Now | Next::Never => None,
        };
        let term = term.filter(|term| term.holds(now)).map(|term| term.until);
        let times = [
            scheduler,
            term,
            self.keeping.next(),
            self.reading.next(),
            self.election.next(),
            self.append_next(),
            self.audience.next(),
            self.trimming.next(),
        ];
        times
            .into_iter()
            .flatten()
            .min()
            .map_or(Next::Never, Next::At)
    }

    /// Returns what is to be done, since the last call.
    pub(crate) fn take_effects(&mut self) -> Effects<S> {
        std::mem::take(&mut self.effects)
    }

    /// Returns the leadership of this node, if it leads the shard.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.leading.as_ref().map(|leading| leading.fence)
    }

    /// Returns who leads the shard, as far as this node knows.
    pub(crate) const fn leader(&self) -> Option<&Leader> {
        self.election.leader()
    }

    /// Returns whether this node leads the shard.
    pub(crate) const fn is_leading(&self) -> bool {
        self.leading.is_some()
    }

    /// Returns the last entry that is applied.
    pub(crate) const fn applied(&self) -> u64 {
        self.replica.applied().seq
    }

    /// Returns why the shard has stopped.
    pub(crate) const fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Does what can be done now.
    fn advance(&mut self, now: Now, term: Option<Term>) {
        self.keep(now, term);
        self.read(now);
        self.hold_or_begin(now);
        self.elect(now, term);
        self.write(now);
        self.trim(now);
    }

    fn answered(&mut self, call: CallId, answer: Result<Answer, Unanswered>, now: Now) {
        match answer {
            Ok(Answer::Tail(tail)) => self.tail_is(call, tail, now),
            Ok(Answer::Leads(leader)) => self.election.answered(call, leader, now),
            Ok(Answer::Appended(appended)) => self.appended(call, appended, now),
            Ok(Answer::Reported(noted)) => self.keeping.reported(call, noted),
            Ok(Answer::Reports(reports)) => {
                let own = reports
                    .iter()
                    .find(|(node, _)| *node == self.setup.member.node);
                self.keeping.log_has(own.map(|(_, seq)| *seq));
                self.trimming.reports_are(call, reports);
            }
            Ok(Answer::First(seq, entry)) => self.trimming.first_is(call, seq, &entry),
            Ok(Answer::Done) => self.trimming.trimmed(call),
            Ok(
                Answer::Granted(..)
                | Answer::Alive(_)
                | Answer::Announced(_)
                | Answer::Founded(_)
                | Answer::Charter(_)
                | Answer::Members(_),
            ) => {}
            Err(_) => {
                let again = now.after(self.setup.pause());
                self.keeping.unanswered(call, again);
                self.reading.unanswered(call, again);
                self.election.unanswered(call, again);
                self.append_unanswered(call, again);
                self.trimming.unanswered(call, again);
            }
        }
    }

    /// Ends the leadership, and the election, if this node may not lead any more.
    fn check_term(&mut self, now: Now, term: Option<Term>) {
        let lease = term.filter(|term| term.holds(now)).map(|term| term.lease);
        let fence = self.leading.as_ref().map(|leading| leading.fence);
        let fence = fence.or_else(|| self.election.elected());
        if let Some(fence) = fence
            && lease != Some(fence.lease)
        {
            self.resign(fence);
        }
    }

    /// Leads the shard no longer, and says so to the log.
    fn resign(&mut self, fence: Fence) {
        if self.leading.take().is_some() {
            self.audience_ends(fence);
            self.effects.changes.push(Leadership::Ends(fence));
        }
        self.trimming = Trimming::default();
        self.election.resigned(fence);
        self.reading.at_once();
    }

    fn hand_over(&mut self) {
        let fence = self.leading.as_ref().map(|leading| leading.fence);
        if let Some(fence) = fence.or_else(|| self.election.elected()) {
            self.resign(fence);
        }
        self.election.never_again();
    }

    fn stop(&mut self, why: impl Into<Stopped>) {
        self.hand_over();
        self.stopped.get_or_insert(why.into());
    }

    fn call(&mut self, request: Request) -> CallId {
        let call = self.calls.next();
        self.effects.calls.push((call, request));
        call
    }
}

/// Returns the moment a pause after `now`.
fn after(now: Now, pause: Duration) -> Tick {
    now.monotonic + nanos(pause)
}
