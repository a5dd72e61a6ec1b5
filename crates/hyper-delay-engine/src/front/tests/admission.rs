//! Deliveries that wait for their ids.

use super::*;

/// A delivery on a route, which can be written for ten nanoseconds and answered for five more.
fn delivery(route: &str, seq: u64, sent: u64) -> Delivery<()> {
    Delivery {
        route: route.into(),
        seq,
        due: 3,
        attempt: 1,
        until: Tick::new(sent + 15),
        write_by: Tick::new(sent + 10),
        is_lost: false,
        origin: (),
    }
}

/// The answer that frees the id can come before the front looks for what has waited too long.
#[test]
fn what_can_be_written_no_more_goes_back_when_its_id_is_free() {
    for (now, is_sent) in [(9, true), (10, false)] {
        let mut front = front(&Config::default());
        let (id, now): (Arc<str>, _) = ("x".into(), Tick::new(now));
        front.deliver(ONE, &id, delivery("a", 1, 5), NOW);
        let second = front.deliver(ONE, &id, delivery("b", 2, 0), NOW);
        assert_eq!(second, Admission::Queued);
        let named = DeliverySelector {
            id: id.clone(),
            route: None,
            attempt: None,
        };
        assert_eq!(front.ack(ONE, &named, now).unwrap().seq, 1);
        let (released, accept) = front.release(ONE, &id, now).unwrap();
        assert_eq!((released.seq, accept.is_some()), (2, is_sent), "{now:?}");
    }
}
