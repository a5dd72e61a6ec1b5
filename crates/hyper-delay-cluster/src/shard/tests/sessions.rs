//! Links that break and come back.

use super::*;
use hyper_delay_engine::scheduler::{DeliveryName, UnansweredDelivery};

/// A leader that has sent two copies, of the rounds with the number 1, to a connection.
fn two_copies() -> (World, Vec<TaskRevision>) {
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
fn break_link(world: &mut World, heard: Option<u64>, adopted: Vec<UnansweredDelivery>) {
    world.event(ShardEvent::PeerDisconnected(PEER));
    world.settle();
    world.to_peers.clear();
    world.begin_again(heard);
    world.says(ToLeader::Opened(CLIENT));
    world.says(ToLeader::Adopted(CLIENT, adopted));
    let (route, mode) = ("r".into(), hyper_delay_protocol::RegisterMode::Shared);
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
            world.says(ToLeader::Ping {
                sent,
                last_copy: heard,
            });
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
fn a_release_of_an_earlier_leadership_leaves_the_grant_of_the_present_one() {
    let mut world = World::new();
    world.begin();
    let epoch = |world: &World| world.shard.fence().unwrap().epoch;
    let earlier = epoch(&world);
    world.event(ShardEvent::ClockIsOff(true));
    pass(&mut world, LEASE);
    assert!(!world.is_led());
    world.event(ShardEvent::ClockIsOff(false));
    while !world.shard.is_leading() {
        pass(&mut world, LEASE / 8);
    }
    world.begin();
    let present = epoch(&world);
    world.says(ToLeader::Released { epoch: earlier });
    world.event(ShardEvent::HandOver);
    world.settle();
    assert!(world.is_led(), "the node can still write deliveries");
    world.says(ToLeader::Released { epoch: present });
    world.settle();
    assert!(!world.is_led());
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
    let adopted = copies.iter().map(|copy| UnansweredDelivery {
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
        world.to_peers.clear();
        let (sent, heard) = (Tick::ZERO, 2);
        world.says(ToLeader::Ping {
            sent,
            last_copy: heard,
        });
        let to_peers = world.shard.take_effects().to_peers.into_iter();
        let grant = to_peers.filter(|(_, message)| matches!(message, ToServing::Granted { .. }));
        grant.count()
    };
    assert_eq!(pings(&mut world), 1);
    world.event(ShardEvent::HandOver);
    assert_eq!(pings(&mut world), 1, "it has passed nothing on");
    world.shard.tick(world.now, world.term);
    let effects = world.shard.take_effects();
    let [(call, LogRequest::Append { entry, .. })] = &effects.calls[..] else {
        panic!("{:?}", effects.calls);
    };
    assert_eq!(handed_over_copies(entry), 2);
    assert_eq!(pings(&mut world), 0);
    let answer = world.log.carry_out(&effects.calls[0].1);
    world.event(ShardEvent::Answered(*call, Ok(answer)));
    world.settle();
    assert!(!world.shard.is_leading());
}

#[test]
fn a_connection_that_closes_because_its_node_ends_has_failed_nothing() {
    for is_ending in [true, false] {
        let (mut world, copies) = two_copies();
        let other = CLIENT + 1;
        world.says(ToLeader::Opened(other));
        let (route, mode) = ("r".into(), hyper_delay_protocol::RegisterMode::Shared);
        world.says(ToLeader::Bound(other, route, mode));
        world.says(ToLeader::Lent(other, 5));
        world.settle();
        world.to_peers.clear();
        if is_ending {
            world.says(ToLeader::Ending);
        }
        world.says(ToLeader::Closing(CLIENT));
        world.says(ToLeader::Closed(CLIENT));
        world.settle();
        let again = world.to_peers.iter().filter_map(|message| match message {
            ToServing::Connection(to, ToConnection::Deliver(copy)) if *to == other => {
                Some(copy.revision.seq)
            }
            _ => None,
        });
        let again: Vec<u64> = again.collect();
        let all: Vec<u64> = copies.iter().map(|copy| copy.seq).collect();
        // A failed round is followed by a delay.
        assert_eq!(again, if is_ending { all } else { Vec::new() });
    }
}

#[test]
fn what_a_node_had_in_flight_that_ended_as_planned_is_sent_again_when_it_is_back() {
    let (mut world, copies) = two_copies();
    world.says(ToLeader::Ending);
    break_link(&mut world, None, Vec::new());
    let all = copies.iter().map(|copy| (copy.id.to_string(), 2));
    assert_eq!(sent(&world), all.collect::<Vec<_>>());
}

#[test]
fn a_node_whose_link_breaks_while_it_ends_has_failed_nothing() {
    let (mut world, copies) = two_copies();
    world.event(ShardEvent::PeerDisconnected(PEER));
    world.settle();
    world.to_peers.clear();
    world.begin_again(Some(2));
    world.says(ToLeader::Ending);
    world.says(ToLeader::Opened(CLIENT));
    let (route, mode) = ("r".into(), hyper_delay_protocol::RegisterMode::Shared);
    world.says(ToLeader::Bound(CLIENT, route, mode));
    world.says(ToLeader::Ready);
    world.says(ToLeader::Lent(CLIENT, 5));
    world.settle();
    let all = copies.iter().map(|copy| (copy.id.to_string(), 2));
    assert_eq!(sent(&world), all.collect::<Vec<_>>());
}

#[test]
fn a_touched_delivery_ends_then_on_the_clock_of_the_leader() {
    let (mut world, copies) = two_copies();
    world.now.wall_nanos += 7_000_000_000;
    world.to_peers.clear();
    let delivery = DeliveryName {
        route: copies[0].route.clone(),
        id: copies[0].id.clone(),
        attempt: copies[0].attempt,
    };
    let extend_ms = Some(50_000);
    let touch = RouteRequest::Touch {
        delivery,
        extend_ms,
    };
    world.asks(4, touch);
    world.settle();
    let until = world.to_peers.iter().find_map(|message| match message {
        ToServing::Connection(CLIENT, ToConnection::Touched(4, Reply::Touched { .. }, until)) => {
            Some(*until)
        }
        _ => None,
    });
    assert_eq!(until, Some(world.now.after(Duration::from_secs(50))));
}
