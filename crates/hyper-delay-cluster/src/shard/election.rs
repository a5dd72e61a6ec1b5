//! Elections: this node leads the shard if no other node does.

mod known_leader;
mod resignations;

use std::time::Duration;

use race_wheel::Tick;

use super::ShardSetup;
use crate::{
    call_id::{CallId, CallIds},
    log::{Fence, Leader, LeaderAndHeartbeat, LeaseId, LogRequest, Takeover},
};
use hyper_delay_engine::clock::{Now, nanos};
use known_leader::KnownLeader;
use resignations::Resignations;

/// The attempts of this node to lead the shard.
#[derive(Debug, Default)]
pub(super) struct Election {
    leader: KnownLeader,
    pending_call: Option<CallId>,
    /// No request is sent before this moment.
    next: Tick,
    /// When something is to be done.
    wake: Option<Tick>,
    /// The leadership that this node has won. It leads once it has read the journal to its end.
    elected: Option<Fence>,
    resignations: Resignations,
    /// This node is about to end.
    is_retired: bool,
    /// The wall clock of this node is wrong.
    clock_is_off: bool,
    /// The replica of this node waits for a snapshot.
    lacks_store: bool,
    /// The disk of this node is full.
    lacks_disk_space: bool,
}

/// This node, as an election sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) lease: LeaseId,
    /// The number of nodes that go first. `None`: it is no member.
    pub(super) rank: Option<u32>,
    /// It has the whole journal, and the others know what it has.
    pub(super) is_ready: bool,
}

/// What a candidate does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ElectionStep {
    Wait,
    Request(CallId, LogRequest),
    /// This node has won. It leads once it has read the journal to its end.
    ReadJournal,
}

/// Each node lets those before it go first, by this part of the lease for each.
const PRECEDENCE: u32 = 8;

impl Election {
    /// Returns the leadership that this node has won.
    pub(super) const fn elected(&self) -> Option<Fence> {
        self.elected
    }

    /// Returns the leader of the shard.
    pub(super) const fn leader(&self) -> Option<&Leader> {
        self.leader.get()
    }

    /// Returns whether the leader has changed since the last call.
    pub(super) const fn take_change(&mut self) -> bool {
        self.leader.take_change()
    }

    /// This leads the shard since a revision of the log, or did until a moment ago.
    pub(super) fn leader_announced(&mut self, leader: Option<Leader>, revision: u64, now: Now) {
        let own = self.own_epoch();
        self.leader.announced(leader, revision, own, now);
    }

    /// The log has answered that this leads the shard.
    pub(super) fn leader_confirmed(&mut self, current: Option<LeaderAndHeartbeat>, now: Now) {
        let own = self.own_epoch();
        self.leader.confirmed(current, own, now);
    }

    /// Returns the leadership that this node has won, or 0.
    fn own_epoch(&self) -> u64 {
        self.elected.map_or(0, |fence| fence.epoch)
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
        self.resignations.unanswered(call, again);
    }

    /// This node leads no longer.
    pub(super) fn resigned(&mut self, fence: Fence) {
        self.elected = None;
        self.leader.forget();
        self.resignations.resign(fence);
    }

    /// This leads the shard after a leadership of this node.
    pub(super) fn set_successor(&mut self, leader: Leader) {
        self.leader.set(Some(leader));
    }

    /// The log has carried out a request.
    pub(super) fn done(&mut self, call: CallId) {
        self.resignations.done(call);
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
        self.elected.is_none() && self.pending_call.is_none() && !self.resignations.is_pending()
    }

    /// Returns when the next action is due.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.wake
    }

    /// Returns the request that tells the log of the end of a leadership, if it must be sent now. No
    /// node writes deliveries from `grants_end` on.
    pub(super) fn resignation(
        &mut self,
        grants_end: Tick,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        let request = self.resignations.request(grants_end, calls, now);
        self.wake = self.resignations.next(grants_end);
        request
    }

    /// Takes the next step to lead the shard. This node must not lead it.
    pub(super) fn step(
        &mut self,
        candidate: Candidate,
        setup: &ShardSetup,
        calls: &mut CallIds,
        now: Now,
    ) -> ElectionStep {
        if self.elected.is_some() || self.pending_call.is_some() {
            return ElectionStep::Wait;
        }
        let rank = candidate.rank.filter(|_| !self.is_barred());
        let own = self.leader().filter(|it| it.lease == candidate.lease);
        let own = own.map(|leader| Fence {
            shard: setup.shard,
            epoch: leader.epoch,
            lease: leader.lease,
        });
        match (rank, own) {
            // It was won too late, and no other node can lead while this node lives.
            (None, Some(fence)) => self.resign_unwanted(fence, setup, calls, now),
            (None, None) => ElectionStep::Wait,
            (Some(_), _) if !candidate.is_ready => ElectionStep::Wait,
            (Some(_), Some(fence)) if self.resignations.contains(fence.epoch) => {
                self.resign_unwanted(fence, setup, calls, now)
            }
            // The answer to the request to lead can be lost.
            (Some(_), Some(fence)) => {
                self.elected = Some(fence);
                ElectionStep::ReadJournal
            }
            (Some(rank), None) => {
                let Some(takeover) = self.takeover(rank, setup.lease, now) else {
                    return ElectionStep::Wait;
                };
                let call = calls.next();
                self.pending_call = Some(call);
                let request = LogRequest::Lead {
                    shard: setup.shard,
                    lease: candidate.lease,
                    member: setup.member.clone(),
                    takeover,
                };
                ElectionStep::Request(call, request)
            }
        }
    }

    /// Returns what a node of this rank takes over now, if it may lead.
    fn takeover(&mut self, rank: u32, lease: Duration, now: Now) -> Option<Option<Takeover>> {
        let turn = nanos(lease / PRECEDENCE * rank);
        let (free_since, takeover) = self.leader.free_since(lease, now)?;
        let begins = (free_since + turn).max(self.next);
        if now.monotonic < begins {
            self.wake = Some(begins);
            return None;
        }
        Some(takeover)
    }

    /// Resigns a leadership that this node cannot use, again and again until the log shows its end.
    fn resign_unwanted(
        &mut self,
        fence: Fence,
        setup: &ShardSetup,
        calls: &mut CallIds,
        now: Now,
    ) -> ElectionStep {
        if self.resignations.is_pending() {
            return ElectionStep::Wait;
        }
        let is_due = now.monotonic >= self.next;
        if is_due {
            self.next = now.after(setup.pause());
        }
        self.wake = Some(self.next);
        match is_due {
            true => ElectionStep::Request(calls.next(), LogRequest::Resign(fence)),
            false => ElectionStep::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixture::{at, setup},
        *,
    };
    use crate::{ShardId, log::Member};

    /// The lease of `setup` is 2 s.
    const SECOND: u64 = 1_000_000_000;
    const OWN: Candidate = Candidate {
        lease: LeaseId(5),
        rank: Some(2),
        is_ready: true,
    };

    fn leader(epoch: u64, lease: LeaseId) -> Option<Leader> {
        let member = Member {
            node: "a".into(),
            address: "a:1".into(),
        };
        Some(Leader {
            member,
            epoch,
            lease,
        })
    }

    fn step(election: &mut Election, candidate: Candidate, nanos: u64) -> ElectionStep {
        let mut calls = CallIds::default();
        election.step(candidate, &setup(), &mut calls, at(nanos))
    }

    fn fence(epoch: u64) -> Fence {
        Fence {
            shard: ShardId(0),
            epoch,
            lease: OWN.lease,
        }
    }

    #[test]
    fn nodes_of_a_lower_rank_go_first_after_a_vacancy() {
        let mut election = Election::default();
        assert_eq!(step(&mut election, OWN, 9 * SECOND), ElectionStep::Wait);
        election.leader_announced(None, 1, at(SECOND));
        let turn = SECOND + SECOND / 2;
        assert_eq!(step(&mut election, OWN, turn - 1), ElectionStep::Wait);
        assert_eq!(election.next(), Some(Tick::new(turn)));
        let ElectionStep::Request(call, LogRequest::Lead { takeover: None, .. }) =
            step(&mut election, OWN, turn)
        else {
            panic!("it is its turn");
        };
        assert!(!election.has_no_leadership(), "it may have won");
        assert_eq!(step(&mut election, OWN, turn), ElectionStep::Wait);
        election.unanswered(call, Tick::new(2 * SECOND));
        assert!(election.has_no_leadership());
        let before = step(&mut election, OWN, 2 * SECOND - 1);
        assert_eq!(before, ElectionStep::Wait);
    }

    #[test]
    fn a_leadership_that_the_log_shows_is_taken_up_unless_it_was_resigned() {
        let mut election = Election::default();
        election.leader_announced(leader(3, OWN.lease), 3, at(0));
        let behind = Candidate {
            is_ready: false,
            ..OWN
        };
        assert_eq!(step(&mut election, behind, 0), ElectionStep::Wait);
        assert_eq!(step(&mut election, OWN, 0), ElectionStep::ReadJournal);
        assert_eq!(election.elected(), Some(fence(3)));
        election.resigned(fence(3));
        let mut calls = CallIds::default();
        let (call, _) = election.resignation(Tick::ZERO, &mut calls, at(0)).unwrap();
        election.done(call);
        election.leader_announced(leader(3, OWN.lease), 4, at(0));
        let ElectionStep::Request(_, request) = step(&mut election, OWN, 0) else {
            panic!("it must not be taken up again");
        };
        assert_eq!(request, LogRequest::Resign(fence(3)));
    }

    #[test]
    fn a_barred_node_resigns_what_it_has_won() {
        let mut election = Election::default();
        election.set_has_disk_space(false);
        election.leader_announced(None, 1, at(0));
        assert_eq!(step(&mut election, OWN, 9 * SECOND), ElectionStep::Wait);
        election.leader_announced(leader(3, OWN.lease), 3, at(0));
        let ElectionStep::Request(_, request) = step(&mut election, OWN, SECOND) else {
            panic!("it cannot lead");
        };
        assert_eq!(request, LogRequest::Resign(fence(3)));
        let pause = at(SECOND).after(setup().pause());
        assert_eq!(election.next(), Some(pause));
        assert_eq!(step(&mut election, OWN, SECOND), ElectionStep::Wait);
        election.set_has_disk_space(true);
        assert_eq!(step(&mut election, OWN, SECOND), ElectionStep::ReadJournal);
    }
}
