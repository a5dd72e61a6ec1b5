use super::*;

fn with_copy(seq: u64) -> Consumer {
    let mut consumer = Consumer::new();
    consumer.change_loan(|lending| lending.lend(1));
    assert!(consumer.add_copy(DeliveryCopy::new("route".into(), "id".into(), seq, 1)));
    consumer
}

fn revision(attempt: u32) -> TaskRevision {
    TaskRevision {
        route: "route".into(),
        id: "id".into(),
        seq: 7,
        attempt,
    }
}

fn take(consumer: &mut Consumer, attempt: u32) -> Option<DeliveryCopy> {
    consumer.take_copy(7, |copy| copy.is_of(&revision(attempt)))
}

#[test]
fn an_answer_takes_the_copy_once() {
    let mut consumer = with_copy(7);
    assert!(!consumer.has_room());
    assert!(take(&mut consumer, 2).is_none());
    assert_eq!(take(&mut consumer, 1).unwrap().seq, 7);
    assert!(take(&mut consumer, 1).is_none());
    assert!(consumer.has_room());
}

#[test]
fn it_has_one_copy_of_a_revision() {
    let mut consumer = with_copy(7);
    assert!(!consumer.add_copy(DeliveryCopy::new("other".into(), "id".into(), 7, 2)));
    assert_eq!(consumer.load(), 1);
    assert_eq!(&*consumer.copy(7).unwrap().route, "route");
}

#[test]
fn a_lost_copy_takes_no_credit() {
    let mut consumer = with_copy(7);
    assert_eq!(consumer.mark_lost(7).as_deref(), Some("id"));
    assert_eq!(consumer.mark_lost(7), None);
    assert!(consumer.has_room());
    assert!(consumer.in_flight_copy(7).is_none() && consumer.copy(7).is_some());
    assert!(take(&mut consumer, 1).unwrap().is_lost);
    assert_eq!(consumer.load(), 0);
}
