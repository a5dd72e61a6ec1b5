//! A full disk.

use super::*;
use crate::{clock::Now, store::Room};

/// Another node, which follows what the first one has written.
struct Follower {
    shard: Shard<Fake>,
    disk: Arc<Fake>,
    entries: Vec<(u64, Arc<[u8]>)>,
    now: Now,
}

impl Follower {
    /// The last entries schedule a task, deliver it and remove it.
    fn new() -> Self {
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
        let setup = Setup {
            member,
            ..world.shard.setup.clone()
        };
        Self {
            entries: entries.map(|(seq, entry)| (*seq, entry.clone())).collect(),
            shard: Shard::open(disk.clone(), setup, members.into(), world.now).unwrap(),
            disk,
            now: world.now,
        }
    }

    /// All entries come, as far as they are not applied. Returns how many are now.
    fn hears(&mut self) -> u64 {
        let event = Event::Entries(self.entries.clone());
        self.shard.handle(event, self.now, None);
        self.shard.tick(self.now, None);
        self.shard.applied()
    }

    /// Time passes until the disk is looked at again.
    fn waits(&mut self) {
        self.now.monotonic = self.now.after(LEASE);
        self.shard.tick(self.now, None);
    }
}

#[test]
fn a_follower_stands_still_until_there_is_room_for_new_tasks() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    let before = last - 3;
    follower.disk.room_is(Room::for_new_tasks(0));
    assert_eq!(follower.hears(), before);
    follower.disk.room_is(Room::AMPLE);
    assert_eq!(
        follower.hears(),
        before,
        "it has not looked at the disk yet"
    );
    follower.waits();
    assert_eq!(follower.hears(), last);
    assert!(follower.shard.stopped().is_none());
}

#[test]
fn a_follower_on_a_full_disk_takes_what_ends_tasks() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    let acks = follower.entries.split_off(follower.entries.len() - 1);
    assert_eq!(follower.hears(), last - 1);
    follower.entries = acks;
    follower.disk.room_is(Room::none());
    assert_eq!(follower.hears(), last - 1);
    follower.disk.room_is(Room::for_new_tasks(0));
    follower.waits();
    assert_eq!(follower.hears(), last);
}

#[test]
fn nothing_is_written_to_a_disk_without_room() {
    let mut follower = Follower::new();
    follower.shard.setup.sync_interval = Duration::ZERO;
    follower.disk.room_is(Room::none());
    let commits = follower.disk.asked().commits;
    for _ in 0..3 {
        follower.hears();
        follower.waits();
        assert!(follower.shard.take_effects().persist.is_none());
    }
    assert_eq!(follower.disk.asked().commits, commits);
}

#[test]
fn a_leader_without_room_for_an_ack_lets_another_node_lead_until_there_is() {
    let mut world = World::new();
    world.begin();
    let store = world.shard.replica.store().clone();
    store.room_is(Room::for_new_tasks(0));
    world.asks(1, cancel());
    assert_eq!(world.answered(), [1]);
    store.room_is(Room::none());
    world.asks(2, cancel());
    world.settle();
    let epoch = world.log.shard(SHARD).leader.clone().map(|it| it.epoch);
    world.says(ToLeader::Released {
        epoch: epoch.expect("its end is not told yet"),
    });
    world.settle();
    assert!(!world.shard.is_leading() && !world.is_led());
    let lease = world.term.unwrap().lease;
    let until = Tick::new(u64::MAX);
    world.term = Some(Term { lease, until });
    for _ in 0..3 {
        world.now.monotonic = world.now.after(LEASE);
        world.settle();
        assert!(!world.is_led(), "there is no other node");
    }
    store.room_is(Room::AMPLE);
    world.now.monotonic = world.now.after(LEASE);
    world.settle();
    world.now.monotonic = world.now.after(LEASE);
    world.settle();
    assert!(world.shard.is_leading());
}
