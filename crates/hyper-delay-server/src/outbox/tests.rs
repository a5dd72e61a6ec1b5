use std::sync::mpsc::{self, Receiver};

use super::*;
use hyper_delay_protocol::Accept;

fn outbox(capacity: usize) -> (ConnectionOutbox, Receiver<FrontInput>) {
    let (reports, inbox) = mpsc::channel();
    let reports = ReportSender::new(move |report| drop(reports.send(report)));
    (
        ConnectionOutbox::new(7, reports, capacity, Clock::new()),
        inbox,
    )
}

#[test]
fn request_of_any_length_fits_if_no_other_is_under_way() {
    let (outbox, _) = outbox(2);
    for (line, weight) in [
        (0, 1),
        (WEIGHT_UNIT_BYTES - 1, 1),
        (WEIGHT_UNIT_BYTES, 2),
        (100 * WEIGHT_UNIT_BYTES, 2),
    ] {
        assert_eq!(outbox.weight(line), weight, "{line}");
        assert!(outbox.try_reserve(weight));
        assert!(!outbox.is_answered());
        assert_eq!(outbox.try_reserve(1), weight < 2);
        outbox.release(2);
        assert!(outbox.is_answered());
    }
}

fn delivery(seq: u64, until: Tick) -> ConsumerMessage {
    ConsumerMessage::Deliver {
        due: 0,
        seq,
        route: "route".into(),
        id: "task".into(),
        attempt: 1,
        until,
        write_by: until,
        accept: Accept::default(),
        authority: None,
    }
}

#[tokio::test]
async fn a_long_queue_drops_late_deliveries_and_nothing_else_and_says_so() {
    let (outbox, inbox) = outbox(1);
    for seq in 0..10_000 {
        outbox.push(delivery(seq, Tick::ZERO));
        if seq % 10 == 0 {
            outbox.push(delivery(seq, Tick::new(u64::MAX)));
            outbox.push(ConsumerMessage::Done(1));
        }
    }
    let messages = outbox.take_all().await.unwrap();
    assert!(messages.len() <= 2 * 2_000 + 1, "{}", messages.len());
    let replies = messages.iter();
    let replies = replies.filter(|message| matches!(message, ConsumerMessage::Done(_)));
    assert_eq!(replies.count(), 1_000);
    let live = messages.iter().filter_map(|message| match message {
        ConsumerMessage::Deliver { seq, until, .. } if *until > Tick::ZERO => Some(*seq),
        _ => None,
    });
    assert!(live.eq((0..10_000).step_by(10)), "in their order");
    let reported = inbox.try_iter().map(|event| match event {
        FrontInput::NotSent(copy, UnsentReason::TooLate { attempt: 1, .. }) => {
            (copy.consumer, copy.seq)
        }
        event => panic!("{event:?}"),
    });
    let late = messages.iter().filter_map(|message| match message {
        ConsumerMessage::Deliver { seq, until, .. } if *until == Tick::ZERO => Some((7, *seq)),
        _ => None,
    });
    let mut all: Vec<_> = reported.chain(late).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq((0..10_000).map(|seq| (7, seq))));
}

#[tokio::test]
async fn what_is_not_written_is_told_at_the_end_and_replies_stay() {
    let (outbox, inbox) = outbox(1);
    let late = Tick::new(u64::MAX);
    outbox.push(delivery(1, late));
    outbox.push(ConsumerMessage::Done(1));
    assert!(outbox.next_batch().await);
    outbox.push(delivery(2, late));
    outbox.add_unwritten(outbox.copy_of(3, "task".into()), 1);
    let unwritten = outbox
        .take_unwritten()
        .into_iter()
        .map(|input| match input {
            FrontInput::NotSent(copy, UnsentReason::Unwritten { attempt: 1 }) => {
                (copy.consumer, copy.seq)
            }
            input => panic!("{input:?}"),
        });
    assert_eq!(unwritten.collect::<Vec<_>>(), [(7, 1), (7, 2), (7, 3)]);
    assert!(matches!(
        outbox.batch().pop_front(),
        Some(ConsumerMessage::Done(1))
    ));
    assert!(outbox.batch().is_empty() && outbox.take_unwritten().is_empty());
    assert!(inbox.try_recv().is_err());
}

#[tokio::test]
async fn a_writer_that_cannot_write_drops_what_is_late_and_knows_the_next() {
    let (outbox, inbox) = outbox(1);
    for (seq, write_by) in [(1, 10), (2, 30)] {
        outbox.push(delivery(seq, Tick::new(write_by)));
    }
    assert!(outbox.next_batch().await);
    for (seq, write_by) in [(3, 20), (4, 10)] {
        outbox.push(delivery(seq, Tick::new(write_by)));
    }
    let late = || {
        let late = inbox.try_iter().map(|event| match event {
            FrontInput::NotSent(copy, UnsentReason::TooLate { .. }) => copy.seq,
            event => panic!("{event:?}"),
        });
        late.collect::<Vec<_>>()
    };
    assert_eq!(outbox.drop_late_now(Tick::new(9)), Some(Tick::new(10)));
    assert!(late().is_empty());
    assert_eq!(outbox.drop_late_now(Tick::new(10)), Some(Tick::new(20)));
    assert_eq!(late(), [1, 4]);
    assert_eq!(outbox.drop_late_now(Tick::new(30)), None);
    assert_eq!(late(), [2, 3]);
}
