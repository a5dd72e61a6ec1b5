use super::*;
use crate::scheduler::declined_rounds::{AvoidedConsumers, DeclinedRounds};

const NOW: Tick = Tick::ZERO;

fn consumers() -> ConsumerTable {
    let mut consumers = ConsumerTable::default();
    for consumer in 1..=3 {
        consumers.open(consumer);
        let state = consumers.get_mut(consumer).unwrap();
        state.change_loan(|lending| lending.lend(2));
    }
    consumers
}

fn add_copy(consumers: &mut ConsumerTable, consumer: ConsumerId, id: &str, seq: u64) {
    let copy = DeliveryCopy::new("route".into(), id.into(), seq, 1);
    assert!(consumers.add_copy(consumer, copy));
}

fn revision(id: &str, seq: u64) -> TaskRevision {
    TaskRevision {
        route: "route".into(),
        id: id.into(),
        seq,
        attempt: 1,
    }
}

fn choose(consumers: &ConsumerTable, last: Option<ConsumerId>) -> Result<u64, NoConsumer> {
    let avoided = AvoidedConsumers {
        last,
        declined: None,
    };
    choose_avoiding(consumers, avoided)
}

fn choose_avoiding(
    consumers: &ConsumerTable,
    avoided: AvoidedConsumers<'_>,
) -> Result<u64, NoConsumer> {
    let chosen = consumers.choose([1, 2, 3].into_iter(), "id", avoided, NOW);
    chosen.map(|(_, consumer)| consumer)
}

#[test]
fn the_first_of_the_least_loaded_is_chosen() {
    let mut consumers = consumers();
    assert_eq!(choose(&consumers, None), Ok(1));
    add_copy(&mut consumers, 1, "a", 1);
    assert_eq!(choose(&consumers, None), Ok(2));
    add_copy(&mut consumers, 2, "b", 2);
    assert_eq!(choose(&consumers, Some(3)), Ok(1), "3 failed it last");
    add_copy(&mut consumers, 3, "c", 3);
    assert_eq!(choose(&consumers, None), Ok(1));
}

#[test]
fn a_consumer_that_left_a_copy_unanswered_comes_last() {
    let mut consumers = consumers();
    add_copy(&mut consumers, 1, "a", 1);
    assert!(consumers.time_out(1, 1, Tick::new(5)));
    assert!(consumers.is_late(1));
    add_copy(&mut consumers, 2, "b", 2);
    add_copy(&mut consumers, 3, "c", 3);
    assert_eq!(choose(&consumers, None), Ok(2));
    let acked = consumers.take_acked(1, &revision("a", 1));
    assert!(matches!(acked, Some(AckedCopy::Late)), "{acked:?}");
    assert!(!consumers.is_late(1));
    assert_eq!(choose(&consumers, None), Ok(1));
}

#[test]
fn without_credit_or_with_the_same_id_there_is_no_consumer() {
    let mut consumers = consumers();
    for consumer in 1..=3 {
        add_copy(&mut consumers, consumer, "id", consumer);
    }
    assert_eq!(choose(&consumers, None), Err(NoConsumer::IdInFlight));
    for consumer in 1..=3 {
        add_copy(&mut consumers, consumer, "other", 10 + consumer);
    }
    assert_eq!(choose(&consumers, None), Err(NoConsumer::NoCredit));
}

#[test]
fn a_consumer_that_rests_is_not_chosen() {
    let mut consumers = consumers();
    let mut declined = DeclinedRounds::default();
    declined.add_rest(1, Tick::new(30), NOW);
    declined.add_rest(3, Tick::new(20), NOW);
    let choose = |consumers: &ConsumerTable| {
        let avoided = AvoidedConsumers {
            last: Some(2),
            declined: Some(&declined),
        };
        choose_avoiding(consumers, avoided)
    };
    assert_eq!(choose(&consumers), Ok(2));
    add_copy(&mut consumers, 2, "id", 2);
    assert_eq!(choose(&consumers), Err(NoConsumer::Resting(Tick::new(20))));
    add_copy(&mut consumers, 3, "a", 3);
    add_copy(&mut consumers, 3, "b", 4);
    assert_eq!(choose(&consumers), Err(NoConsumer::Resting(Tick::new(30))));
    add_copy(&mut consumers, 1, "id", 5);
    assert_eq!(choose(&consumers), Err(NoConsumer::IdInFlight));
}

#[test]
fn a_connection_that_closes_takes_its_late_copies_with_it() {
    let mut consumers = consumers();
    add_copy(&mut consumers, 1, "a", 1);
    consumers.time_out(1, 1, Tick::new(5));
    let closed = consumers.close(1).unwrap();
    assert_eq!(closed.late, [1]);
    assert!(!consumers.is_late(1));
}

#[test]
fn an_overdue_copy_is_late_and_returns_its_credit_and_its_id() {
    let mut consumers = consumers();
    let until = Tick::new(100);
    add_copy(&mut consumers, 1, "id", 7);
    assert!(!consumers.time_out(1, 8, until));
    assert!(!consumers.get(1).unwrap().is_suspect(Tick::ZERO));
    assert!(consumers.time_out(1, 7, until));
    assert!(!consumers.holds_id(1, "id") && consumers.is_late(7));
    let state = consumers.get(1).unwrap();
    assert_eq!(state.load(), 0);
    assert!(state.is_suspect(Tick::new(99)) && !state.is_suspect(until));
    assert_eq!(state.late_attempt("route", "id"), Some(1));
}

#[test]
fn any_answer_ends_the_suspicion() {
    let mut consumers = consumers();
    add_copy(&mut consumers, 1, "id", 7);
    consumers.time_out(1, 7, Tick::new(100));
    assert!(consumers.take_nacked(1, &revision("id", 7)).is_none());
    assert!(!consumers.get(1).unwrap().is_suspect(Tick::ZERO));
}

#[test]
fn a_lost_copy_keeps_its_id_until_it_ends() {
    let mut consumers = consumers();
    add_copy(&mut consumers, 1, "id", 7);
    assert_eq!(consumers.mark_lost(1, 7).as_deref(), Some("id"));
    assert_eq!(consumers.mark_lost(1, 7), None);
    assert!(consumers.holds_id(1, "id"));
    assert!(consumers.take_nacked(1, &revision("id", 7)).is_none());
    assert!(consumers.time_out(1, 7, Tick::ZERO));
    assert!(!consumers.holds_id(1, "id") && !consumers.is_late(7));
}

#[test]
fn several_connections_have_copies_of_an_id() {
    let mut consumers = consumers();
    for consumer in 1..=3 {
        add_copy(&mut consumers, consumer, "id", consumer);
    }
    assert!(consumers.take_unsent(2, 2, None).is_some());
    let holders = [1, 2, 3].map(|consumer| consumers.holds_id(consumer, "id"));
    assert_eq!(holders, [true, false, true]);
    consumers.close(1);
    assert!(consumers.take_lost(3, &revision("id", 3)).is_none());
    assert!(consumers.take_nacked(3, &revision("id", 3)).is_some());
    assert_eq!(consumers.held.len(), 0);
}
