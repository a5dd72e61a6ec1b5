//! A full disk.

use super::{follower::Follower, *};
use hyper_delay_store::DiskSpace;

#[test]
fn a_follower_stands_still_until_there_is_room_for_new_tasks() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    let before = last - 3;
    follower.disk.set_disk_space(DiskSpace::for_new_tasks(0));
    assert_eq!(follower.receive_entries(), before);
    follower.disk.set_disk_space(DiskSpace::UNLIMITED);
    assert_eq!(
        follower.receive_entries(),
        before,
        "it has not looked at the disk yet"
    );
    follower.pass_lease();
    assert_eq!(follower.receive_entries(), last);
    assert!(follower.shard.stopped().is_none());
}

#[test]
fn a_follower_on_a_full_disk_takes_what_ends_tasks() {
    let mut follower = Follower::new();
    let last = follower.entries.len() as u64;
    let acks = follower.entries.split_off(follower.entries.len() - 1);
    assert_eq!(follower.receive_entries(), last - 1);
    follower.entries = acks;
    follower.disk.set_disk_space(DiskSpace::none());
    assert_eq!(follower.receive_entries(), last - 1);
    follower.disk.set_disk_space(DiskSpace::for_new_tasks(0));
    follower.pass_lease();
    assert_eq!(follower.receive_entries(), last);
}

#[test]
fn nothing_is_written_to_a_disk_without_room() {
    let mut follower = Follower::new();
    follower.shard.setup.sync_interval = Duration::ZERO;
    follower.disk.set_disk_space(DiskSpace::none());
    let commits = follower.disk.calls().commits;
    for _ in 0..3 {
        follower.receive_entries();
        follower.pass_lease();
        assert!(follower.shard.take_effects().persist.is_none());
    }
    assert_eq!(follower.disk.calls().commits, commits);
}

#[test]
fn a_leader_without_room_for_an_ack_lets_another_node_lead_until_there_is() {
    let mut world = World::new();
    world.begin();
    let store = world.shard.replica.store().clone();
    store.set_disk_space(DiskSpace::for_new_tasks(0));
    world.asks(1, cancel());
    assert_eq!(world.answered(), [1]);
    store.set_disk_space(DiskSpace::none());
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
    store.set_disk_space(DiskSpace::UNLIMITED);
    world.now.monotonic = world.now.after(LEASE);
    world.settle();
    world.now.monotonic = world.now.after(LEASE);
    world.settle();
    assert!(world.shard.is_leading());
}
