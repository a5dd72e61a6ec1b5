//! Elections: the leader of the shard.

use std::time::Duration;

use race_wheel::Tick;

use super::Shard;
use crate::{
    call_id::CallId,
    heartbeat::HeartbeatWatch,
    lease::Term,
    log::{Fence, Leader, LeaderAndHeartbeat, LogRequest, NodeName, Takeover},
};
use hyper_delay_engine::clock::{Now, nanos};
use hyper_delay_store::Store;

/// The leader as this node knows it, and the attempts of this node to lead.
#[derive(Debug, Default)]
pub(super) struct Election {
    leader: Option<Leader>,
    /// The highest revision of the log that is known to have changed the leader.
    revision: u64,
    /// Whether the leader has changed since it was last asked.
    has_changed: bool,
    /// Watches the heartbeat of the leader. `None`: it is not known yet.
    heartbeat_watch: Option<HeartbeatWatch>,
    /// Since when there is no leader, as far as this node knows.
    vacant_since: Option<Tick>,
    pending_call: Option<CallId>,
    /// No request is sent before this moment.
    next: Tick,
    /// When something is to be done.
    wake: Option<Tick>,
    /// The leadership that this node has won. It leads once it has read the journal to its end.
    elected: Option<Fence>,
    /// The last leadership that this node has resigned, or 0. The request to end it can reach the
    /// log at any time, so it must not be taken up again.
    resigned: u64,
    /// The leadership whose end is not in the log yet: other nodes can still write deliveries of
    /// it.
    resigning: Option<PendingResignation>,
    /// This node is about to end.
    is_retired: bool,
    /// The wall clock of this node is wrong.
    clock_is_off: bool,
    /// The replica of this node waits for a snapshot.
    lacks_store: bool,
    /// The disk of this node is full.
    lacks_disk_space: bool,
}

/// A leadership whose end must be sent to the log.
#[derive(Debug, Clone, Copy)]
struct PendingResignation {
    fence: Fence,
    /// The request in flight.
    pending_call: Option<CallId>,
    /// When it is sent, or sent again.
    send_at: Tick,
}

impl Election {
    /// Returns the leadership that this node has won.
    pub(super) const fn elected(&self) -> Option<Fence> {
        self.elected
    }

    /// Returns the leader of the shard.
    pub(super) const fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// Returns whether the leader has changed since the last call.
    pub(super) const fn take_change(&mut self) -> bool {
        std::mem::replace(&mut self.has_changed, false)
    }

    /// This leads the shard since a revision of the log, or did until a moment ago. A watch that
    /// reconnects to another member of the log can repeat old changes.
    pub(super) fn leader_announced(&mut self, leader: Option<Leader>, revision: u64, now: Now) {
        if revision > self.revision {
            self.revision = revision;
            self.update_leader(leader, now);
        }
    }

    fn update_leader(&mut self, leader: Option<Leader>, now: Now) {
        if self.is_older(leader.as_ref()) {
            return;
        }
        self.vacant_since = match leader {
            Some(_) => None,
            None => self.vacant_since.or(Some(now.monotonic)),
        };
        self.set_leader(leader);
    }

    /// The log has answered that this leads the shard.
    pub(super) fn leader_confirmed(&mut self, current: Option<LeaderAndHeartbeat>, now: Now) {
        let epoch = current.as_ref().map_or(0, |current| current.leader.epoch);
        self.revision = self.revision.max(epoch);
        self.update_leader(current.as_ref().map(|current| current.leader.clone()), now);
        match (&mut self.heartbeat_watch, current) {
            (Some(watch), Some(current)) => watch.observe(current),
            (watch, current) => *watch = current.map(HeartbeatWatch::new),
        }
    }

    /// Returns whether the news of this leader are older than the leadership of this node. Nothing
    /// would correct them: a leader does not read the journal.
    fn is_older(&self, leader: Option<&Leader>) -> bool {
        let own = self.elected.map_or(0, |fence| fence.epoch);
        leader.map_or(0, |leader| leader.epoch) < own
    }

    fn set_leader(&mut self, leader: Option<Leader>) {
        if self.leader != leader {
            self.leader = leader;
            self.has_changed = true;
        }
    }

    /// The log has answered with the leader. If that is another node, this one asks no earlier than
    /// `again`.
    pub(super) fn answered(
        &mut self,
        call: CallId,
        current: Option<LeaderAndHeartbeat>,
        again: Tick,
        now: Now,
    ) {
        if self
            .pending_call
            .take_if(|pending| *pending == call)
            .is_some()
        {
            self.next = again;
            self.leader_confirmed(current, now);
        }
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self
            .pending_call
            .take_if(|pending| *pending == call)
            .is_some()
        {
            self.next = again;
        }
        if let Some(resigning) = &mut self.resigning
            && resigning
                .pending_call
                .take_if(|pending| *pending == call)
                .is_some()
        {
            resigning.send_at = again;
        }
    }

    /// This node leads no longer.
    pub(super) fn resigned(&mut self, fence: Fence) {
        self.elected = None;
        self.set_leader(None);
        self.heartbeat_watch = None;
        self.vacant_since = None;
        self.resigned = self.resigned.max(fence.epoch);
        self.resigning = Some(PendingResignation {
            fence,
            pending_call: None,
            send_at: Tick::ZERO,
        });
    }

    /// This leads the shard after a leadership of this node.
    pub(super) fn set_successor(&mut self, leader: Leader) {
        self.set_leader(Some(leader));
    }

    /// The log has carried out a request.
    pub(super) fn done(&mut self, call: CallId) {
        let is_it = |resigning: &mut PendingResignation| resigning.pending_call == Some(call);
        self.resigning.take_if(is_it);
    }

    /// Ends the part of this node in elections for good.
    pub(super) const fn retire(&mut self) {
        self.is_retired = true;
    }

    /// With a wrong clock this node takes part in no election.
    pub(super) const fn set_clock_off(&mut self, is_off: bool) {
        self.clock_is_off = is_off;
    }

    /// Without a store this node takes part in no election.
    pub(super) const fn set_has_store(&mut self, has_store: bool) {
        self.lacks_store = !has_store;
    }

    /// Without space on its disk this node takes part in no election.
    pub(super) const fn set_has_disk_space(&mut self, has_room: bool) {
        self.lacks_disk_space = !has_room;
    }

    /// Returns whether this node takes part in no election.
    const fn is_barred(&self) -> bool {
        self.is_retired || self.clock_is_off || self.lacks_store || self.lacks_disk_space
    }

    /// Returns whether this node neither has won a leadership nor may win one by what it has asked
    /// for, and that the log knows of the end of the last one.
    pub(super) const fn has_no_leadership(&self) -> bool {
        self.elected.is_none() && self.pending_call.is_none() && self.resigning.is_none()
    }

    /// Returns the moment from which on the shard can be led by another node, and what it takes
    /// over then. `None`: not enough is known.
    fn free_since(&mut self, lease: Duration, now: Now) -> Option<(Tick, Option<Takeover>)> {
        let Some(leader) = &self.leader else {
            return Some((self.vacant_since?, None));
        };
        let watch = self.heartbeat_watch.as_mut();
        let watch = watch.filter(|watch| watch.epoch() == leader.epoch)?;
        Some((watch.takeover_at(lease, now), Some(watch.takeover())))
    }

    /// Returns when something is to be done.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.wake
    }
}

/// Each node lets those before it go first, by this part of the lease for each.
const PRECEDENCE: u32 = 8;

impl<S: Store> Shard<S> {
    /// Leads the shard if it has no leader, or if its leader is silent.
    pub(super) fn elect(&mut self, now: Now, term: Option<Term>) {
        self.election.wake = self.send_resignation(now);
        let term = term.filter(|term| term.holds(now));
        let Some(term) = term else {
            return;
        };
        let rank = self.rank().filter(|_| !self.election.is_barred());
        // A node that is behind would win, and lead nothing until it has caught up. Others have less
        // to read, and without a leader the journal does not grow.
        let is_at_the_end = self.journal.is_at_the_end(self.applied()) && !self.is_draining();
        let election = &mut self.election;
        let is_busy = election.elected.is_some() || election.pending_call.is_some();
        let is_ready = self.disk_progress.is_known() && is_at_the_end;
        if self.leading.is_some() || is_busy {
            return;
        }
        let leader = election.leader.as_ref();
        let own = leader.filter(|leader| leader.lease == term.lease);
        let own = own.map(|leader| Fence {
            shard: self.setup.shard,
            epoch: leader.epoch,
            lease: leader.lease,
        });
        let rank = match (rank, own) {
            // It was won too late, and no other node can lead while this node lives.
            (None, Some(fence)) => return self.resign_unwanted(fence, now),
            (None, None) => return,
            (Some(_), _) if !is_ready => return,
            // The answer to the request to lead can be lost.
            (Some(_), Some(fence)) => return self.take_up_leadership(fence, now),
            (Some(rank), None) => rank,
        };
        let turn = nanos(self.setup.lease / PRECEDENCE * rank);
        let Some((free_since, takeover)) = election.free_since(self.setup.lease, now) else {
            return;
        };
        let begins = (free_since + turn).max(election.next);
        if now.monotonic < begins {
            election.wake = Some(begins);
            return;
        }
        let call = self.call(LogRequest::Lead {
            shard: self.setup.shard,
            lease: term.lease,
            member: self.setup.member.clone(),
            takeover,
        });
        self.election.pending_call = Some(call);
    }

    /// Tells the log that a leadership has ended, once no node writes deliveries of it. The request
    /// is repeated until it is answered. Returns when something is to be done.
    pub(super) fn send_resignation(&mut self, now: Now) -> Option<Tick> {
        let PendingResignation {
            fence,
            pending_call: pending,
            send_at: next,
        } = self.election.resigning?;
        if pending.is_some() {
            return None;
        }
        let next = next.max(self.grants.last_end());
        if now.monotonic < next {
            return Some(next);
        }
        let call = self.call(LogRequest::Resign(fence));
        if let Some(resigning) = &mut self.election.resigning {
            resigning.pending_call = Some(call);
        }
        None
    }

    /// Takes up a leadership that this node has in the log.
    fn take_up_leadership(&mut self, fence: Fence, now: Now) {
        if fence.epoch <= self.election.resigned {
            return self.resign_unwanted(fence, now);
        }
        self.election.elected = Some(fence);
        self.journal.read_now();
        self.read(now);
    }

    /// Resigns a leadership that this node cannot use, again and again until the log shows its end.
    fn resign_unwanted(&mut self, fence: Fence, now: Now) {
        if self.election.resigning.is_some() {
            return;
        }
        if now.monotonic >= self.election.next {
            self.election.next = now.after(self.setup.pause());
            self.call(LogRequest::Resign(fence));
        }
        self.election.wake = Some(self.election.next);
    }

    /// Returns how many nodes go first when there is no leader. They differ from shard to shard, so
    /// the leaders spread over the nodes. `None`: this node is no member.
    pub(super) fn rank(&self) -> Option<u32> {
        let members = &self.members;
        let is_this = |node: &NodeName| *node == self.setup.member.node;
        let place = members.iter().position(is_this)?;
        let first = usize::from(self.setup.shard.0) % members.len();
        let rank = (place + members.len() - first) % members.len();
        Some(u32::try_from(rank).unwrap_or(u32::MAX))
    }
}
