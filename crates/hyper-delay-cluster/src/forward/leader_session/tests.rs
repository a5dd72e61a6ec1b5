use super::*;
use crate::forward::samples::{delivered, grant, leader, request};

const LEASE: u64 = 6_400;

fn at(nanos: u64) -> Tick {
    Tick::new(nanos)
}

/// The name of the node that leads.
fn b() -> NodeName {
    "b".into()
}

/// A session of a shard, from time 0 on.
fn down() -> LeaderSession {
    LeaderSession::new(ShardId(3), Duration::from_nanos(LEASE), at(0))
}

/// Asks the leader, to which there is a link.
fn ask(session: &mut LeaderSession, now: u64) -> Option<ToLeader> {
    session.request(&"a".into(), &BTreeSet::from([b()]), at(now))
}

/// A leader, the leadership 7 of `b`, was asked at time 10.
fn requested() -> LeaderSession {
    let mut session = down();
    session.set_leader(Some(leader("b", 7)), at(10));
    ask(&mut session, 10);
    session
}

/// It has accepted at time 20.
fn active() -> LeaderSession {
    let mut session = requested();
    assert!(session.accepted(&b(), 7, grant(10), at(20)));
    session
}

fn not_acked(seq: u64) -> DeliveryOutcome {
    DeliveryOutcome::NotAcked("x".into(), delivered(seq), ToLeader::Closing(5))
}

fn acked(seq: u64) -> DeliveryOutcome {
    let delivered = delivered(seq);
    DeliveryOutcome::Acked(delivered.revision("x".into()), delivered)
}

#[test]
fn a_leader_is_asked_only_over_a_link() {
    let mut session = down();
    assert!(ask(&mut session, 0).is_none());
    assert!(!session.is_request_due(at(99)) && session.is_request_due(at(100)));
    assert_eq!(session.next_event(), None, "no leader is known");
    session.set_leader(Some(leader("c", 7)), at(50));
    assert_eq!(session.next_event(), Some(at(50)));
    assert!(ask(&mut session, 50).is_none(), "the link is to another");
    assert_eq!(session.next_event(), Some(at(150)));
    session.linked(&"c".into(), at(60));
    assert!(session.is_request_due(at(60)));
    session.set_leader(Some(leader("b", 8)), at(70));
    assert!(matches!(
        ask(&mut session, 70),
        Some(ToLeader::Begin { epoch: 8, last_copy: None, sent, .. }) if sent == at(70)
    ));
}

#[test]
fn a_leader_that_refuses_is_asked_after_a_pause_and_a_silent_one_is_given_up() {
    let mut session = requested();
    session.refused(&b(), 6, at(20));
    assert!(!session.is_request_due(at(120)), "of another leadership");
    assert!(!session.is_silent(at(1_609)) && session.is_silent(at(1_610)));
    assert_eq!(session.next_event(), Some(at(1_610)));
    session.refused(&b(), 7, at(20));
    assert!(!session.is_request_due(at(119)) && session.is_request_due(at(120)));
    assert!(!session.is_silent(at(9_999)));
}

#[test]
fn only_the_answer_to_the_last_question_begins_a_session() {
    let mut session = requested();
    for (node, epoch, asked_at) in [("c", 7, 10), ("b", 8, 10), ("b", 7, 9)] {
        assert!(!session.accepted(&node.into(), epoch, grant(asked_at), at(20)));
    }
    assert!(session.active().is_none());
    assert!(session.accepted(&b(), 7, grant(10), at(20)));
    assert!(session.active().is_some_and(|active| active.is_with(&b())));
    assert!(!session.accepted(&b(), 7, grant(10), at(20)), "once");
}

#[test]
fn a_session_ends_when_its_leader_has_a_successor() {
    let mut session = active();
    for (known, ends) in [
        (None, false),
        (Some(("b", 7)), false),
        (Some(("c", 6)), false),
    ] {
        let known = known.map(|(node, epoch)| leader(node, epoch));
        assert_eq!(session.set_leader(known, at(30)), ends);
    }
    assert!(session.set_leader(Some(leader("c", 8)), at(30)));
    session.end(at(30));
    assert!(!session.set_leader(None, at(40)), "there is no session");
    assert_eq!(session.next_event(), None, "no leader is known");
}

#[test]
fn the_end_of_another_leadership_is_not_that_of_the_session() {
    let mut session = active();
    assert!(!session.leadership_ended(&b(), 6));
    assert!(!session.leadership_ended(&"c".into(), 7));
    assert!(session.leadership_ended(&b(), 7));
}

#[test]
fn the_same_leadership_is_told_of_the_last_copy_and_another_is_not() {
    let mut session = active();
    session.note_copy(4);
    assert!(matches!(
        session.ping(at(20)),
        Some(ToLeader::Ping { last_copy: 4, .. })
    ));
    assert!(session.ping(at(819)).is_none(), "after an interval");
    session.end(at(30));
    assert!(matches!(
        ask(&mut session, 30),
        Some(ToLeader::Begin {
            last_copy: Some(4),
            ..
        })
    ));
    session.set_leader(Some(leader("b", 8)), at(40));
    session.end(at(40));
    assert!(matches!(
        ask(&mut session, 40),
        Some(ToLeader::Begin {
            epoch: 8,
            last_copy: None,
            ..
        })
    ));
}

#[test]
fn what_the_leader_may_not_have_taken_is_left_when_a_session_ends() {
    let mut session = active();
    session.number(request(1));
    session.number(request(2));
    session.answered(1);
    for (seq, now) in [(1, 20), (2, 30), (3, 40)] {
        session.sent(5, acked(seq), at(now));
        session.sent(6, not_acked(seq), at(now));
    }
    session.granted(&"c".into(), 7, grant(40), at(50));
    session.granted(&b(), 7, grant(30), at(50));
    let ended = session.end(at(60));
    assert!(ended.active.is_some());
    let pending: Vec<_> = ended
        .pending
        .iter()
        .map(|it| it.reply_to.consumer)
        .collect();
    assert_eq!(pending, [2]);
    let outcomes = ended.unconfirmed.iter();
    let outcomes: Vec<_> = outcomes.map(|(of, (_, it, _))| (*of, it.seq)).collect();
    assert_eq!(outcomes, [(6, 2), (6, 3)]);
    let acks = session
        .take_queue()
        .map(|(consumer, request)| match request {
            QueueableRequest::Ack(revision, _, None) => (consumer, revision.seq),
            other => panic!("{other:?}"),
        });
    assert_eq!(acks.collect::<Vec<_>>(), [(5, 2), (5, 3)]);
    assert!(session.awaits_no_answer());
}

#[test]
fn credit_is_lent_only_to_a_session_that_lasts() {
    let mut session = requested();
    session.start_lending();
    assert!(!session.lends());
    session.accepted(&b(), 7, grant(10), at(20));
    assert!(!session.lends(), "the leader has not got everything");
    session.start_lending();
    assert!(session.lends());
    session.stop_lending();
    assert!(!session.lends());
}

#[test]
fn a_shard_is_unreachable_after_a_lease_without_a_session() {
    let mut session = active();
    assert!(!session.is_unreachable(at(LEASE)));
    session.end(at(100));
    assert!(!session.is_unreachable(at(LEASE + 99)) && session.is_unreachable(at(LEASE + 100)));
}

#[test]
fn an_answer_without_a_query_has_no_number_of_one() {
    let mut session = active();
    let number = session.number(request(1));
    assert_eq!(session.answered_query(number), None);
    assert!(session.pending(number).is_none());
}
