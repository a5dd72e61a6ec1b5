use super::*;
use crate::forward::{
    samples::{delivered, request},
    wire::LeaderQuery,
};

fn queue() -> RequestQueue {
    RequestQueue::new(Duration::from_nanos(100))
}

fn asked(consumer: ConsumerId) -> QueueableRequest {
    let forwarded = ForwardedRequest::Query(LeaderQuery::Applied);
    QueueableRequest::Request(Box::new(forwarded), request(consumer))
}

fn ack(pending: Option<PendingRequest>) -> QueueableRequest {
    let delivered = delivered(9);
    QueueableRequest::Ack(delivered.revision("x".into()), delivered, pending)
}

/// The connections of what waits, in order.
fn waiting(queue: &mut RequestQueue) -> Vec<ConsumerId> {
    queue.take().map(|(consumer, _)| consumer).collect()
}

#[test]
fn requests_expire_after_the_patience_and_the_others_keep_their_order() {
    let mut queue = queue();
    for (consumer, at) in [(1, 0), (2, 10), (3, 20)] {
        queue.push(consumer, asked(consumer), Tick::new(at));
    }
    assert_eq!(queue.next_expiry(), Some(Tick::new(100)));
    assert!(queue.expire(Tick::new(99)).is_empty());
    let expired = queue.expire(Tick::new(100));
    let expired: Vec<_> = expired
        .iter()
        .map(|pending| pending.reply_to.consumer)
        .collect();
    assert_eq!(expired, [1]);
    assert_eq!(queue.next_expiry(), Some(Tick::new(110)));
    assert_eq!(waiting(&mut queue), [2, 3]);
    assert_eq!(queue.next_expiry(), None);
}

#[test]
fn an_ack_without_a_reply_never_expires() {
    let mut queue = queue();
    queue.push(1, ack(None), Tick::new(0));
    assert!(queue.awaits_no_reply());
    queue.push(2, asked(2), Tick::new(50));
    assert!(!queue.awaits_no_reply());
    assert_eq!(queue.next_expiry(), Some(Tick::new(150)));
    assert_eq!(queue.expire(Tick::new(150)).len(), 1);
    assert_eq!(waiting(&mut queue), [1]);
}

#[test]
fn an_ack_whose_reply_expires_names_its_delivery() {
    let mut queue = queue();
    queue.push(1, ack(Some(request(1))), Tick::new(0));
    let expired = queue.expire(Tick::new(100));
    let [pending] = &expired[..] else {
        panic!("{expired:?}");
    };
    assert!(matches!(&pending.action, ReplyAction::Ack(delivered) if delivered.seq == 9));
    assert_eq!(waiting(&mut queue), [0; 0]);
}
