//! Answers that a leader may not have taken.

use super::*;

const ACK: &str = r#"{"kind":"ack","id":"x"}"#;
const NACK: &str = r#"{"kind":"nack","id":"x","delay_ms":500}"#;

/// A session whose leader has sent a delivery of `x`.
fn delivered() -> World {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    world
}

/// The leader answers a ping that was sent at this time.
fn answers_ping(world: &mut World, sent: u64) {
    let grant = LeadershipGrant {
        asked_at: at(sent).monotonic,
        ..world.holds()
    };
    world.leader_sends(0, "b", ToServing::Granted { epoch: 7, grant });
}

/// The messages to the leader about `x`, in order, before the connection can have another copy.
fn heard(world: &mut World) -> Vec<&'static str> {
    let sent = world.sent();
    let before = sent.iter();
    let before = before.take_while(|it| !matches!(it, ToLeader::Ready));
    let heard = before.filter_map(|message| match message {
        ToLeader::Adopted(CLIENT, copies) => {
            let is_it = matches!(&copies[..], [copy] if copy.seq == 3 && copy.attempt == 1);
            is_it.then_some("has")
        }
        ToLeader::Acked { revision, .. } => (revision.seq == 3).then_some("ack"),
        ToLeader::Nacked {
            seq: 3,
            delay_ms: Some(500),
            ..
        } => Some("nack"),
        ToLeader::NotSent(CLIENT, not_sent) => (not_sent.seq == 3).then_some("void"),
        _ => None,
    });
    heard.collect()
}

#[test]
fn an_answer_that_the_ending_leader_may_not_have_taken_goes_to_the_next_one() {
    for (answer, first, again) in [
        (ACK, vec!["ack"], vec!["ack"]),
        (NACK, vec!["nack"], vec!["has", "nack"]),
    ] {
        for ends in [true, false] {
            let mut world = delivered();
            world.asks(answer);
            assert_eq!(heard(&mut world), first);
            match ends {
                true => world.leader_sends(0, "b", ToServing::Ended { epoch: 7 }),
                false => world.event(ForwarderEvent::Unlinked("b".into())),
            }
            world.up(0, "c", 8);
            assert_eq!(heard(&mut world), again);
        }
    }
}

#[test]
fn a_nack_without_a_leader_goes_to_the_next_one_with_its_delivery() {
    let mut world = delivered();
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.asks(NACK);
    world.up(0, "c", 8);
    assert_eq!(heard(&mut world), ["has", "nack"]);
}

#[test]
fn answers_to_several_rounds_of_a_task_each_come_with_their_delivery() {
    let mut world = delivered();
    world.asks(NACK);
    world.delivers_round(0, ("r", "x", 3, 2), 0);
    world.asks(NACK);
    world.effects();
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.up(0, "c", 8);
    let sent = world.sent();
    let rounds = sent.iter().filter_map(|message| match message {
        ToLeader::Adopted(CLIENT, copies) => {
            Some(("has", copies.iter().map(|copy| copy.attempt).collect()))
        }
        ToLeader::Nacked { named, .. } => Some(("nack", Vec::from_iter(named.attempt))),
        _ => None,
    });
    let rounds: Vec<(&str, Vec<u32>)> = rounds.collect();
    let expected = [("has", 1), ("nack", 1), ("has", 2), ("nack", 2)];
    assert_eq!(rounds, expected.map(|(what, round)| (what, vec![round])));
}

#[test]
fn what_a_leader_has_taken_is_not_told_again() {
    for answer in [ACK, NACK] {
        let mut world = delivered();
        world.now = 100;
        world.asks(answer);
        world.effects();
        answers_ping(&mut world, 100);
        world.now = 200;
        // It was sent at the same time, perhaps later.
        world.event(ForwarderEvent::Unlinked("b".into()));
        world.event(ForwarderEvent::Linked("b".into()));
        world.effects();
        world.accepts(0, "b", 7);
        assert!(!heard(&mut world).is_empty());
        answers_ping(&mut world, 201);
        world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
        world.up(0, "c", 8);
        assert!(heard(&mut world).is_empty(), "{answer}");
    }
}

#[test]
fn the_same_leader_is_told_again_of_a_delivery_that_was_not_sent_and_another_one_is_not() {
    for is_same in [true, false] {
        let mut world = delivered();
        let copy = CopyId {
            consumer: CLIENT,
            seq: 3,
            id: "x".into(),
        };
        world.event(ForwarderEvent::Input(FrontInput::NotSent(
            copy,
            UnsentReason::Gone,
        )));
        assert_eq!(heard(&mut world), ["void"]);
        world.event(ForwarderEvent::Unlinked("b".into()));
        let again = if is_same {
            world.event(ForwarderEvent::Linked("b".into()));
            world.effects();
            world.accepts(0, "b", 7);
            vec!["has", "void"]
        } else {
            world.up(0, "c", 8);
            vec![]
        };
        assert_eq!(heard(&mut world), again);
    }
}
