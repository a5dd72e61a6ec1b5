use super::*;

fn named(id: &str, attempt: Option<u32>) -> DeliverySelector {
    DeliverySelector {
        id: id.into(),
        route: None,
        attempt,
    }
}

fn with_copy(seq: u64) -> Consumer {
    let mut consumer = Consumer::new(1);
    add_copy(&mut consumer, seq);
    consumer
}

fn add_copy(consumer: &mut Consumer, seq: u64) {
    let copy = DeliveryCopy {
        route: "route".into(),
        seq,
        attempt: 1,
        end: None,
    };
    consumer.add_copy("id".into(), copy);
}

#[test]
fn an_answer_takes_the_copy_once() {
    let mut consumer = with_copy(7);
    assert!(!consumer.has_room());
    assert!(consumer.take_answered(&named("id", Some(2))).is_none());
    assert_eq!(
        consumer.take_answered(&named("id", Some(1))).unwrap().seq,
        7
    );
    assert!(consumer.take_answered(&named("id", None)).is_none());
    assert!(consumer.has_room());
}

#[test]
fn an_overdue_copy_is_late_and_returns_its_credit() {
    let mut consumer = with_copy(7);
    let until = Tick::new(100);
    assert_eq!(consumer.time_out("id", 8, until), TimeoutEffect::Nothing);
    assert!(!consumer.is_suspect(Tick::ZERO));
    let late = TimeoutEffect::Late { forgotten: None };
    assert_eq!(consumer.time_out("id", 7, until), late);
    assert!(consumer.has_room() && !consumer.holds_id("id"));
    assert!(consumer.is_suspect(Tick::new(99)) && !consumer.is_suspect(until));
    assert_eq!(consumer.late_attempt("route", "id"), Some(1));
    assert_eq!(
        consumer.take_late_answered(&named("id", None)).unwrap().seq,
        7
    );
}

#[test]
fn any_answer_ends_the_suspicion() {
    let mut consumer = with_copy(7);
    consumer.time_out("id", 7, Tick::new(100));
    assert!(consumer.take_answered(&named("other", None)).is_none());
    assert!(!consumer.is_suspect(Tick::ZERO));
}

#[test]
fn a_lost_copy_takes_no_credit_but_its_id() {
    let mut consumer = with_copy(7);
    assert!(consumer.mark_lost("id", 7) && !consumer.mark_lost("id", 7));
    assert!(consumer.has_room() && consumer.holds_id("id"));
    assert!(consumer.take_answered(&named("id", None)).is_none());
    assert_eq!(consumer.time_out("id", 7, Tick::ZERO), TimeoutEffect::Freed);
    assert!(!consumer.holds_id("id"));
}
