//! What a node does that applies nothing: it knows who leads, and leads nothing.

use super::{follower::Follower, *};
use crate::log::{JournalTail, Leader, LeaderAndHeartbeat, LogAnswer};
use hyper_delay_store::DiskSpace;

pub(super) const TERM: Term = Term {
    lease: LeaseId(6),
    until: Tick::new(u64::MAX),
};

pub(super) fn leader(node: &str, epoch: u64, lease: LeaseId) -> Leader {
    Leader {
        member: Member {
            node: node.into(),
            address: format!("{node}:1").into(),
        },
        epoch,
        lease,
    }
}

impl Follower {
    /// The log answers for two leases. The journal ends with `last`. Returns what else was asked.
    fn reads(&mut self, leads: &Leader, last: u64) -> Vec<LogRequest> {
        let mut others = Vec::new();
        for _ in 0..8 {
            self.now.monotonic = self.now.after(LEASE / 4);
            self.shard.tick(self.now, Some(TERM));
            for (call, request) in self.shard.take_effects().calls {
                let answer = match request {
                    LogRequest::Report { .. } => LogAnswer::Reported(true),
                    LogRequest::Tail { from, .. } => {
                        self.read_from.push(from);
                        LogAnswer::Tail(JournalTail {
                            leader: Some(LeaderAndHeartbeat {
                                leader: leads.clone(),
                                heartbeat: None,
                            }),
                            first: 0,
                            last,
                            reported: Some(0),
                            entries: (self.entries.iter())
                                .filter(|(seq, _)| (from..=last).contains(seq))
                                .cloned()
                                .collect(),
                        })
                    }
                    other => {
                        others.push(other);
                        continue;
                    }
                };
                let event = ShardEvent::Answered(call, Ok(answer));
                self.shard.handle(event, self.now, Some(TERM));
            }
        }
        others
    }

    fn leader(&self) -> Option<&str> {
        let leader = self.shard.leader();
        leader.map(|leader| leader.member.node.as_ref())
    }

    /// It has won, and learns of it now. Returns whether it gives the leadership back.
    fn resigns(&mut self) -> bool {
        let own = leader("b", 40, TERM.lease);
        let event = ShardEvent::Leader(Some(own.clone()), own.epoch);
        self.shard.handle(event, self.now, Some(TERM));
        let requests = self.reads(&own, 1);
        assert!(!self.shard.is_leading());
        let gives_back =
            |request: &LogRequest| matches!(request, LogRequest::Resign(it) if it.epoch == 40);
        requests.iter().any(gives_back)
    }
}

#[test]
fn a_node_that_starts_with_a_full_disk_knows_who_leads() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    follower.disk.set_disk_space(DiskSpace::for_new_tasks(0));
    follower.reads(&leader("a", 30, LeaseId(5)), last);
    assert!(follower.shard.lacks_disk_space());
    assert_eq!(follower.leader(), Some("a"));
    // The news of this are lost.
    follower.reads(&leader("c", 31, LeaseId(7)), last);
    assert_eq!(follower.leader(), Some("c"));
    follower.disk.set_disk_space(DiskSpace::UNLIMITED);
    follower.reads(&leader("c", 31, LeaseId(7)), last);
    assert_eq!(follower.shard.applied(), last, "it has read on");
}

#[test]
fn a_node_that_applies_nothing_names_only_the_end_of_the_journal() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    follower.disk.set_disk_space(DiskSpace::for_new_tasks(0));
    follower.reads(&leader("a", 30, LeaseId(5)), last);
    assert!(follower.read_from.contains(&(last + 1)));
    follower.read_from.clear();
    follower.reads(&leader("a", 30, LeaseId(5)), last);
    assert!(follower.read_from.len() >= 8);
    assert!(follower.read_from.iter().all(|from| *from == last + 1));
    follower.entries.push((last + 1, b"news".as_slice().into()));
    follower.receive_entries();
    follower.read_from.clear();
    follower.reads(&leader("a", 30, LeaseId(5)), last + 1);
    assert!(follower.read_from.iter().all(|from| *from == last + 2));
    // The journal is made anew.
    follower.reads(&leader("a", 30, LeaseId(5)), 1);
    assert_eq!(follower.read_from.last(), Some(&2));
}

#[test]
fn a_shard_that_stops_when_it_starts_knows_who_leads() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    follower.reads(&leader("a", 30, LeaseId(5)), last);
    assert_eq!(follower.shard.prepare_sync().unwrap().run().unwrap(), last);
    let setup = follower.shard.setup.clone();
    let members = follower.shard.members.clone();
    follower.shard = Shard::open(follower.disk.clone(), setup, members, follower.now).unwrap();
    follower.reads(&leader("c", 31, LeaseId(7)), last - 1);
    let why = follower.shard.stopped();
    assert!(matches!(why, Some(StopReason::Beyond { .. })), "{why:?}");
    assert_eq!(follower.leader(), Some("c"));
    follower.reads(&leader("a", 32, LeaseId(5)), last - 1);
    assert_eq!(follower.leader(), Some("a"));
}

#[test]
fn a_stopped_shard_gives_back_what_it_has_won() {
    let mut follower = Follower::new();
    let error = StoreError::new("sync", std::io::Error::other("it is broken"));
    let event = ShardEvent::Persisted(Err(error));
    follower.shard.handle(event, follower.now, Some(TERM));
    assert!(follower.resigns());
}

#[test]
fn a_node_without_room_gives_back_what_it_has_won() {
    let mut follower = Follower::new();
    follower.disk.set_disk_space(DiskSpace::for_new_tasks(0));
    follower.receive_entries();
    assert!(follower.shard.lacks_disk_space());
    assert!(follower.resigns());
}

#[test]
fn a_node_that_is_no_member_gives_back_what_it_has_won() {
    let mut follower = Follower::new();
    let event = ShardEvent::Members(["a".into()].into());
    follower.shard.handle(event, follower.now, Some(TERM));
    assert!(follower.resigns());
}
