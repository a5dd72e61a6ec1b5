//! A shard on one node: a state machine without threads, network and clock.
//!
//! It is told what has happened ([`Event`]) and what time it is, and returns what is to be done
//! ([`Effects`]). It follows the journal of the shard, leads the shard when nobody else does, and
//! then runs the scheduler of its tasks.

mod append;
mod asked;
mod audience;
mod away;
mod elect;
mod event;
mod fetch;
mod follow;
mod hand_over;
mod keep;
mod lead;
mod peer;
#[cfg(test)]
mod planted;
mod room;
mod session;
mod stopped;
mod trim;

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    calls::{CallId, Calls},
    lease::Term,
    log::{Answer, Fence, Leader, NodeName, Request, Unanswered},
    replica::{NotApplied, Persisting, Replica},
};
use audience::Audience;
pub(crate) use audience::PeerId;
use elect::Election;
pub(crate) use event::{Effects, Event, Leadership, Setup, Stopped};
pub(crate) use fetch::Fetch;
use fetch::Fetching;
use follow::Reading;
#[cfg(test)]
pub(crate) use hand_over::passed_on;
use hyper_delay_engine::{
    clock::{Now, nanos},
    metrics::{InMemory, ShardGauges},
    scheduler::{Input, Next, Settings},
};
use hyper_delay_store::Store;
use keep::Keeping;
use lead::Leading;
#[cfg(test)]
pub(crate) use planted::Kept;
use room::Lack;
use trim::Trimming;

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
    /// It waits for room on the disk.
    lack: Option<Lack>,
    fetching: Fetching,
    effects: Effects<S>,
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
            lack: None,
            fetching: Fetching::default(),
            calls: Calls::default(),
            members,
            replica,
            setup,
            effects: Effects::default(),
        })
    }

    /// Something has happened. [`tick`](Self::tick) is to be called after the last of the events
    /// that are known now, so that their writes share an entry.
    pub(crate) fn handle(&mut self, event: Event, now: Now, term: Option<Term>) {
        self.check_term(now, term);
        if self.stopped.is_some() {
            return self.handle_stopped(event, now);
        }
        match event {
            Event::Answered(call, answer) => {
                self.answered(call, answer, now);
                self.check_successor();
            }
            Event::Entries(entries) => self.arrived(&entries, now),
            Event::Leader(leader, revision) => {
                self.election.hears(leader, revision, now);
                self.check_successor();
            }
            Event::Persisted(Ok(seq)) => self.keeping.persisted(seq),
            Event::Damaged(error) => self.stop(error),
            Event::Persisted(Err(error)) => {
                self.keeping.ended_persisting();
                self.stop(error);
            }
            Event::Peer(peer, message) => self.peer_says(peer, message, now, term),
            Event::PeerIsGone(peer) => self.peer_is_gone(peer, now),
            #[cfg(test)]
            Event::Input(input) => self.asked(input, now),
            Event::Settings(settings) => self.configure(*settings, now),
            Event::Members(members) => self.members_are(members),
            Event::ClockIsOff(is_off) => self.clock_is_off(is_off),
            Event::HandOver => self.hand_over(now),
            Event::NotFetched(attempt, why) => self.not_fetched(attempt, &why, now),
        }
    }

    /// Does what follows from the events since the last call, and from the time. Returns when the
    /// next call must come at the latest.
    pub(crate) fn tick(&mut self, now: Now, term: Option<Term>) -> Next {
        self.check_term(now, term);
        if self.stopped.is_some() {
            return self.tick_stopped(now, term);
        }
        self.hold_or_begin(now);
        let scheduler = self.tick_scheduler(now);
        self.advance(now, term);
        if matches!(scheduler, Next::Now) || self.has_ended() {
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
            self.room_next(),
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
        let leader_changed = self.election.take_change();
        Effects {
            leader_changed,
            ..std::mem::take(&mut self.effects)
        }
    }

    /// Returns what makes all that is applied now durable on this node's disk. `None`: it is.
    pub(crate) fn persisting(&self) -> Option<Persisting<S>> {
        (self.applied() > self.keeping.synced()).then(|| self.replica.persisting())
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

    /// Returns whether the log knows what this node has on its disk.
    #[cfg(test)]
    pub(crate) const fn is_known(&self) -> bool {
        self.keeping.is_known()
    }

    /// Returns whether this node neither leads the shard nor is about to.
    pub(crate) const fn is_out(&self) -> bool {
        self.leading.is_none() && self.election.is_out()
    }

    /// Returns the last entry that is applied.
    pub(crate) const fn applied(&self) -> u64 {
        self.replica.applied().seq
    }

    /// Returns what the scheduler has in memory, if this node leads the shard.
    pub(crate) fn in_memory(&self, now: Now) -> InMemory {
        let memory = match &self.leading {
            Some(leading) => leading.scheduler.in_memory(now),
            None => InMemory::nothing(now.wall_millis()),
        };
        InMemory {
            shard: Some(ShardGauges {
                is_led: self.is_leading(),
                has_stopped: self.stopped.is_some(),
                applied: self.applied(),
                synced: self.keeping.synced(),
            }),
            ..memory
        }
    }

    /// Returns why the shard has stopped.
    pub(crate) const fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Does what can be done now.
    fn advance(&mut self, now: Now, term: Option<Term>) {
        self.look_for_room(now);
        self.keep(now, term);
        self.read(now);
        self.elect(now, term);
        self.write(now);
        self.pass_on(now);
        // The last messages of the leadership go out before it ends.
        if self.has_ended() && self.effects.is_told() {
            self.withdraw();
        }
        self.trim(now);
    }

    fn answered(&mut self, call: CallId, answer: Result<Answer, Unanswered>, now: Now) {
        match answer {
            Ok(Answer::Tail(tail)) => self.tail_is(call, tail, now),
            Ok(Answer::Leads(led)) => {
                let again = now.after(self.setup.pause());
                self.election.answered(call, led, again, now);
            }
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
            Ok(Answer::Done) => {
                self.trimming.trimmed(call);
                self.election.done(call);
            }
            Ok(
                Answer::Alive(_) | Answer::Announced(_) | Answer::Charter(_) | Answer::Members(_),
            ) => {}
            Ok(Answer::Founded(_)) => {}
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

    /// Ends the leadership, and the election, if there is a later leadership: nothing that this one
    /// begins has an effect any more.
    fn check_successor(&mut self) {
        let fence = self.fence().or_else(|| self.election.elected());
        if let Some(fence) = fence
            && let Some(leader) = self.election.leader().cloned()
            && leader.epoch > fence.epoch
        {
            self.resign(fence);
            self.election.successor_is(leader);
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

    /// Ends the leadership and the election.
    fn withdraw(&mut self) {
        let fence = self.leading.as_ref().map(|leading| leading.fence);
        if let Some(fence) = fence.or_else(|| self.election.elected()) {
            self.resign(fence);
        }
    }

    /// Takes and delivers nothing more. The leadership ends when the journal contains what was taken
    /// and what is in flight.
    fn hand_over(&mut self, now: Now) {
        self.election.never_again();
        match &self.leading {
            Some(_) => self.end_leading(now),
            None => self.withdraw(),
        }
    }

    /// Returns whether the leadership is over but for its last messages.
    fn has_ended(&self) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|leading| leading.has_ended())
    }

    /// A node that is removed from the cluster leads no longer.
    fn members_are(&mut self, members: Arc<[NodeName]>) {
        self.members = members;
        if self.rank().is_none() {
            self.withdraw();
        }
    }

    fn configure(&mut self, settings: Settings, now: Now) {
        self.setup.settings = settings.clone();
        self.input(Input::Settings(Box::new(settings)), now);
    }

    fn clock_is_off(&mut self, is_off: bool) {
        if is_off {
            self.withdraw();
        }
        self.election.clock_is_off(is_off);
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

#[cfg(test)]
mod tests;
