//! Links that break and come back.

use super::*;
use crate::scheduler::Adopted;

/// A leader that has sent two copies, of the rounds with the number 1, to a connection.
fn two_copies() -> (World, Vec<Subject>) {
    let mut world = World::new();
    world.begin();
    connect(&mut world);
    world.asks(1, register());
    for (number, id) in [(2, "x"), (3, "y")] {
        world.asks(number, schedule(id));
    }
    world.settle();
    let copies = world.copies();
    assert_eq!(copies.len(), 2);
    (world, copies)
}

fn connect(world: &mut World) {
    world.says(ToLeader::Opened(CLIENT));
    world.says(ToLeader::Lent(CLIENT, 5));
    world.says(ToLeader::Ready);
}

/// The link breaks, and the node is back, whose connection has what is `adopted`.
fn break_link(world: &mut World, heard: Option<u64>, adopted: Vec<Adopted>) {
    world.event(Event::PeerIsGone(PEER));
    world.settle();
    world.told.clear();
    world.begin_again(heard);
    world.says(ToLeader::Opened(CLIENT));
    world.says(ToLeader::Adopted(CLIENT, adopted));
    let (route, mode) = ("r".into(), crate::protocol::Mode::Shared);
    world.says(ToLeader::Bound(CLIENT, route, mode));
    world.says(ToLeader::Ready);
    world.says(ToLeader::Lent(CLIENT, 5));
    world.settle();
}

/// The names and rounds of the copies that were sent since.
fn sent(world: &World) -> Vec<(String, u32)> {
    let copies = world.copies().into_iter();
    copies
        .map(|copy| (copy.id.to_string(), copy.attempt))
        .collect()
}

fn pass(world: &mut World, time: Duration) {
    world.now.monotonic = world.now.after(time);
    world.now.wall_nanos += nanos(time);
    world.term = world.term.map(|term| Term {
        until: Tick::new(u64::MAX),
        ..term
    });
    world.settle();
}

#[test]
fn a_copy_that_was_lost_with_the_link_is_sent_again_at_once_and_has_not_failed() {
    for confirmed in [false, true] {
        let (mut world, copies) = two_copies();
        if confirmed {
            let (sent, heard) = (Tick::ZERO, 1);
            world.says(ToLeader::Ping { sent, heard });
        }
        break_link(&mut world, Some(1), Vec::new());
        assert_eq!(sent(&world), [(copies[1].id.to_string(), 2)]);
        // The other one has arrived, and its connection does not have it any more.
        pass(&mut world, Duration::from_secs(60));
        let again = (copies[0].id.to_string(), 2);
        assert!(sent(&world).contains(&again), "{:?}", sent(&world));
    }
}

#[test]
fn a_node_that_was_started_anew_does_not_know_what_its_connections_had() {
    let (mut world, _) = two_copies();
    break_link(&mut world, None, Vec::new());
    assert_eq!(sent(&world), []);
}

#[test]
fn a_copy_that_a_connection_has_is_not_sent_again() {
    let (mut world, copies) = two_copies();
    let adopted = copies.iter().map(|copy| Adopted {
        route: copy.route.clone(),
        id: copy.id.clone(),
        seq: copy.seq,
        attempt: copy.attempt,
        left: Duration::from_secs(20),
    });
    break_link(&mut world, Some(2), adopted.collect());
    assert_eq!(sent(&world), []);
}

#[test]
fn a_leader_that_ends_answers_a_ping_only_while_it_takes_answers() {
    let (mut world, _) = two_copies();
    let pings = |world: &mut World| {
        world.told.clear();
        let (sent, heard) = (Tick::ZERO, 2);
        world.says(ToLeader::Ping { sent, heard });
        let told = world.shard.take_effects().told.into_iter();
        let holds = told.filter(|(_, told)| matches!(told, ToServing::Holds { .. }));
        holds.count()
    };
    assert_eq!(pings(&mut world), 1);
    world.event(Event::HandOver);
    assert_eq!(pings(&mut world), 1, "it has passed nothing on");
    world.shard.tick(world.now, world.term);
    let effects = world.shard.take_effects();
    let [(call, Request::Append { entry, .. })] = &effects.calls[..] else {
        panic!("{:?}", effects.calls);
    };
    assert_eq!(passed_on(entry), 2);
    assert_eq!(pings(&mut world), 0);
    let answer = world.log.carry_out(&effects.calls[0].1);
    world.event(Event::Answered(*call, Ok(answer)));
    world.settle();
    assert!(!world.shard.is_leading());
}
