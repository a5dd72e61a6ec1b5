use super::*;
use crate::scheduler::consumer::DeliveryCopy;

const SEQ: u64 = 7;

fn at(millis: u64) -> Tick {
    Tick::new(millis * 1_000_000)
}

/// Consumers that have unanswered copies of the task, and one that has none.
fn consumers(holders: &[ConsumerId]) -> ConsumerTable {
    let mut consumers = ConsumerTable::default();
    consumers.open(9);
    for holder in holders {
        consumers.open(*holder);
        let copy = DeliveryCopy::new("route".into(), "id".into(), SEQ, 1);
        assert!(consumers.add_copy(*holder, copy));
    }
    consumers
}

fn round(live: &[ConsumerId], attempt: u32) -> InheritedRound {
    InheritedRound {
        live: live.to_vec(),
        attempt,
    }
}

#[test]
fn a_task_has_the_round_of_its_unanswered_copies() {
    let mut timers = Timers::new(1_000_000);
    let mut inherited = InheritedDeliveries::default();
    for (consumer, attempt) in [(1, 2), (2, 3), (9, 4)] {
        inherited.adopt(SEQ, (consumer, attempt), at(100), &mut timers);
    }
    let consumers = consumers(&[1, 2]);
    let known = inherited.get(SEQ).unwrap();
    let after = |after| known.round_after(after, SEQ, at(0), &consumers);
    assert_eq!(after(1), Some(round(&[1, 2], 3)), "9 has answered");
    assert_eq!(after(2), Some(round(&[2], 3)));
    assert_eq!(after(3), None, "those rounds are over");
}

#[test]
fn a_failed_copy_is_one_of_those_of_the_hand_over() {
    let mut timers = Timers::new(1_000_000);
    let mut inherited = InheritedDeliveries::default();
    let consumers = consumers(&[1]);
    inherited.withhold(SEQ, at(100), &mut timers);
    let round_of = |inherited: &InheritedDeliveries, now| {
        let known = inherited.get(SEQ).unwrap();
        known.round_after(0, SEQ, now, &consumers)
    };
    assert_eq!(round_of(&inherited, at(99)), Some(round(&[], 0)));
    assert_eq!(round_of(&inherited, at(100)), None, "its time is over");
    inherited.adopt(SEQ, (1, 2), at(80), &mut timers);
    assert_eq!(inherited.get(SEQ).unwrap().missing(0, 1), 0);
    inherited.fail_copy(SEQ, 1, CopyEnd::default());
    assert_eq!(round_of(&inherited, at(100)), Some(round(&[], 2)));
    assert_eq!(inherited.get(SEQ).unwrap().unreported_until(), None);
}

#[test]
fn a_copy_of_a_node_that_cannot_be_reached_is_missing_until_it_ends() {
    let mut timers = Timers::new(1_000_000);
    let mut inherited = InheritedDeliveries::default();
    inherited.adopt(SEQ, (1, 1), at(100), &mut timers);
    inherited.adopt(SEQ, (2, 1), at(100), &mut timers);
    let mut consumers = consumers(&[1, 2]);
    consumers.close(1);
    inherited.detach(SEQ, 1, &consumers);
    let known = inherited.get(SEQ).unwrap();
    assert_eq!((known.copies(), known.missing(0, 1)), (&[(2, 1)][..], 1));
    consumers.close(2);
    assert!(inherited.is_in_flight(SEQ, at(99), &consumers));
    assert!(!inherited.is_in_flight(SEQ, at(100), &consumers));
}

#[test]
fn an_expired_task_in_flight_is_returned_when_its_copies_end() {
    let mut timers = Timers::new(1_000_000);
    let mut inherited = InheritedDeliveries::default();
    let consumers = consumers(&[1]);
    assert!(!inherited.set_expired(SEQ, 5, at(0), &consumers));
    inherited.adopt(SEQ, (1, 1), at(100), &mut timers);
    assert!(inherited.set_expired(SEQ, 5, at(0), &consumers));
    let ended: Vec<Timer> = timers.poll_limited(at(100), 9).collect();
    assert_eq!(ended, [Timer::InheritedEnd(SEQ)]);
    assert_eq!(inherited.remove_ended(SEQ), Some(5));
    assert!(inherited.is_empty());
}

#[test]
fn an_acknowledged_task_is_in_flight_until_that_is_on_disk() {
    let mut inherited = InheritedDeliveries::default();
    let consumers = consumers(&[]);
    inherited.begin_finish(SEQ);
    assert!(!inherited.is_empty() && inherited.is_in_flight(SEQ, at(0), &consumers));
    inherited.end_finish(SEQ);
    assert!(inherited.is_empty() && !inherited.is_in_flight(SEQ, at(0), &consumers));
}
