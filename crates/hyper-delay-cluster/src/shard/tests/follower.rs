//! A node that follows.

use super::{blind::leader, *};
use crate::log::{JournalTail, LogAnswer};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{Space, record::key};

/// Another node, which follows what the first one has written.
pub(super) struct Follower {
    pub(super) shard: Shard<Fake>,
    pub(super) disk: Arc<Fake>,
    pub(super) entries: Vec<(u64, Arc<[u8]>)>,
    pub(super) now: Now,
    /// The places from which the journal was read.
    pub(super) read_from: Vec<u64>,
}

impl Follower {
    /// The last entries schedule a task, deliver it and remove it.
    pub(super) fn new() -> Self {
        let mut world = World::new();
        world.begin();
        world.asks(1, schedule("x"));
        world.settle();
        world.asks(2, cancel());
        world.settle();
        let journal = &world.log.shard(SHARD).journal;
        let entries = journal.iter().skip(1);
        let disk = Arc::<Fake>::default();
        let member = Member {
            node: "b".into(),
            address: "b:1".into(),
        };
        let members = ["a".into(), member.node.clone()];
        let setup = ShardSetup {
            member,
            ..world.shard.setup.clone()
        };
        Self {
            entries: entries.map(|(seq, entry)| (*seq, entry.clone())).collect(),
            shard: Shard::open(disk.clone(), setup, members.into(), world.now).unwrap(),
            disk,
            now: world.now,
            read_from: Vec::new(),
        }
    }

    /// All entries come, as far as they are not applied. Returns how many are now.
    pub(super) fn receive_entries(&mut self) -> u64 {
        let event = ShardEvent::Entries(self.entries.clone());
        self.shard.handle(event, self.now, None);
        self.shard.tick(self.now, None);
        self.shard.applied()
    }

    /// Time passes until the disk is checked again.
    pub(super) fn pass_lease(&mut self) {
        self.now.monotonic = self.now.after(LEASE);
        self.shard.tick(self.now, None);
    }
}

#[test]
fn a_node_that_is_behind_lets_others_lead() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    let term = Some(Term {
        lease: LeaseId(6),
        until: Tick::new(u64::MAX),
    });
    let mut has_asked_to_lead = false;
    for _ in 0..=last {
        follower.now.monotonic = follower.now.after(LEASE);
        follower.shard.tick(follower.now, term);
        for (call, request) in follower.shard.take_effects().calls {
            let answer = match request {
                LogRequest::Report { .. } => LogAnswer::Reported(true),
                // It has the next entry only, and says where the journal ends.
                LogRequest::Tail { .. } => LogAnswer::Tail(JournalTail {
                    leader: None,
                    first: 0,
                    last,
                    reported: Some(0),
                    entries: follower.entries.drain(..1).collect(),
                }),
                LogRequest::Lead { .. } => {
                    has_asked_to_lead = true;
                    continue;
                }
                other => panic!("{other:?}"),
            };
            let event = ShardEvent::Answered(call, Ok(answer));
            follower.shard.handle(event, follower.now, term);
        }
        let applied = follower.shard.applied();
        assert!(applied == last || !has_asked_to_lead, "{applied} of {last}");
    }
    follower.now.monotonic = follower.now.after(LEASE);
    follower.shard.tick(follower.now, term);
    let calls = follower.shard.take_effects().calls;
    let asks = calls
        .iter()
        .any(|(_, it)| matches!(it, LogRequest::Lead { .. }));
    assert!(asks || has_asked_to_lead, "{calls:?}");
}

#[test]
fn news_that_come_again_bring_no_earlier_leader_back() {
    let mut follower = Follower::new();
    let of = |epoch| Some(leader("a", epoch, LeaseId(5)));
    let mut announce = |leader: Option<Leader>, revision| {
        let event = ShardEvent::Leader(leader, revision);
        follower.shard.handle(event, follower.now, None);
        follower.shard.leader().map(|leader| leader.epoch)
    };
    assert_eq!(announce(of(30), 30), Some(30));
    assert_eq!(announce(None, 35), None);
    assert_eq!(announce(of(30), 30), None);
    assert_eq!(announce(of(40), 40), Some(40));
    for (old, revision) in [(of(30), 30), (None, 35), (of(40), 40)] {
        assert_eq!(announce(old, revision), Some(40));
    }
    assert_eq!(announce(None, 45), None);
}

#[test]
fn entries_that_come_together_are_applied_in_one_commit() {
    let mut together = Follower::new();
    let mut apart = Follower::new();
    let last = together.entries.len() as u64;
    let before = together.disk.calls().commits;
    assert_eq!(together.receive_entries(), last);
    assert_eq!(together.disk.calls().commits - before, 1);
    for entry in std::mem::take(&mut apart.entries) {
        apart.entries = vec![entry];
        apart.receive_entries();
    }
    let contents = |follower: &Follower| follower.disk.contents_without(Space::Meta, key::SYNCED);
    assert!(contents(&together) == contents(&apart));
    // They come again.
    together.receive_entries();
    assert_eq!(together.disk.calls().commits - before, 1);
}

#[test]
fn entries_before_one_that_cannot_be_read_are_applied() {
    let mut follower = Follower::new();
    let last = follower.entries.last_mut().unwrap();
    last.1 = last.1[..last.1.len() - 1].into();
    let before = last.0 - 1;
    assert_eq!(follower.receive_entries(), before);
    let why = follower.shard.stopped();
    assert!(
        matches!(why, Some(StopReason::NotApplied(ApplyError::Bad { .. }))),
        "{why:?}"
    );
}
