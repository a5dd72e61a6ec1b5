use super::*;

impl<O: Origin> Deliveries<O> {
    /// Returns the deliveries of an id: in flight, queued and late.
    pub(in crate::front) fn all_of(&self, id: &str) -> impl Iterator<Item = &Delivery<O>> {
        let all = self.in_flight.get(id).into_iter();
        all.chain(self.queued_of(id)).chain(self.late.copies_of(id))
    }

    /// Returns those in flight, with their ids.
    pub(in crate::front) fn in_flight(&self) -> impl Iterator<Item = (&Arc<str>, &Delivery<O>)> {
        self.in_flight.iter()
    }

    /// Returns those that wait for their id.
    pub(in crate::front) fn queued_of(&self, id: &str) -> impl Iterator<Item = &Delivery<O>> {
        self.queued.get(id).into_iter().flatten()
    }

    /// Returns all that wait for their ids.
    pub(in crate::front) fn queued(&self) -> impl Iterator<Item = &Delivery<O>> {
        self.queued.values().flatten()
    }
}

const NOW: Tick = Tick::new(100);

fn named(id: &str, route: Option<&str>, attempt: Option<u32>) -> DeliverySelector {
    DeliverySelector {
        id: id.into(),
        route: route.map(Into::into),
        attempt,
    }
}

fn delivery(route: &str, seq: u64, attempt: u32, until: u64) -> Delivery<()> {
    Delivery {
        route: route.into(),
        seq,
        due: 3,
        attempt,
        until: Tick::new(until),
        write_by: Tick::new(until - 10),
        is_lost: false,
        origin: (),
    }
}

fn seq(delivery: Option<Delivery<()>>) -> Option<u64> {
    delivery.map(|delivery| delivery.seq)
}

#[test]
fn an_answer_takes_the_delivery_that_it_names_once() {
    let mut deliveries = Deliveries::new(1);
    assert_eq!(
        deliveries.add(&"id".into(), delivery("a", 1, 1, 200), NOW),
        Added::InFlight
    );
    assert!(
        deliveries
            .take_answered(&named("id", Some("b"), None), NOW)
            .is_none()
    );
    assert!(
        deliveries
            .take_answered(&named("id", None, Some(2)), NOW)
            .is_none()
    );
    assert_eq!(
        seq(deliveries.take_answered(&named("id", Some("a"), Some(1)), NOW)),
        Some(1)
    );
    assert!(
        deliveries
            .take_answered(&named("id", None, None), NOW)
            .is_none()
    );
}

#[test]
fn a_delivery_without_an_answer_in_its_time_can_be_acknowledged_and_found() {
    let mut deliveries = Deliveries::new(1);
    let id: Arc<str> = "id".into();
    deliveries.add(&id, delivery("a", 1, 1, 90), NOW);
    assert_eq!(
        deliveries.add(&id, delivery("a", 1, 2, 200), NOW),
        Added::InFlight
    );
    let first = named("id", None, Some(1));
    assert_eq!(deliveries.find(&first).map(|it| it.attempt), Some(1));
    assert_eq!(
        seq(deliveries.take_answered(&named("id", None, None), NOW)),
        Some(1),
        "the latest"
    );
    assert_eq!(
        deliveries
            .take_answered(&named("id", None, None), NOW)
            .unwrap()
            .attempt,
        1
    );
}

#[test]
fn one_id_is_delivered_once_at_a_time() {
    let mut deliveries = Deliveries::new(2);
    let id: Arc<str> = "id".into();
    deliveries.add(&id, delivery("a", 1, 1, 200), NOW);
    assert_eq!(
        deliveries.add(&id, delivery("b", 2, 1, 300), NOW),
        Added::Queued
    );
    assert_eq!(deliveries.next(), Some(Tick::new(200)));
    assert!(deliveries.release(&id).is_none() && deliveries.has_queued());
    deliveries.take_answered(&named("id", None, None), NOW);
    assert_eq!(seq(deliveries.release(&id)), Some(2));
    assert!(!deliveries.has_queued());
    assert_eq!(deliveries.get("id").map(|it| it.seq), Some(2));
}

#[test]
fn a_delivery_that_could_be_taken_for_another_one_is_not_added() {
    let mut deliveries = Deliveries::new(1);
    let id: Arc<str> = "id".into();
    deliveries.add(&id, delivery("a", 1, 1, 200), NOW);
    assert_eq!(
        deliveries.add(&id, delivery("a", 2, 1, 300), NOW),
        Added::Confusing
    );
    assert_eq!(
        deliveries.add(&id, delivery("a", 2, 2, 300), NOW),
        Added::InFlight
    );
    assert_eq!(
        deliveries.add(&id, delivery("a", 3, 1, 400), NOW),
        Added::Confusing,
        "it is late"
    );
}

#[test]
fn what_waits_for_its_id_too_long_is_taken_back() {
    let mut deliveries = Deliveries::new(1);
    let id: Arc<str> = "id".into();
    deliveries.add(&id, delivery("a", 1, 1, 500), NOW);
    deliveries.add(&id, delivery("b", 2, 1, 300), NOW);
    deliveries.add(&id, delivery("c", 3, 1, 900), NOW);
    let late = deliveries.take_queued(|it| it.write_by <= Tick::new(290));
    assert_eq!(late.iter().map(|(_, it)| it.seq).collect::<Vec<_>>(), [2]);
    assert!(deliveries.expire(Tick::new(499)).is_empty());
    assert_eq!(deliveries.expire(Tick::new(500)), std::slice::from_ref(&id));
    assert_eq!(seq(deliveries.release(&id)), Some(3));
}

#[test]
fn those_whose_time_has_passed_are_remembered_up_to_the_highest_credit() {
    let mut deliveries = Deliveries::new(2_000);
    deliveries.set_credit(1);
    for number in 0..2_001 {
        let id: Arc<str> = number.to_string().into();
        deliveries.add(&id, delivery("a", number, 1, 50 + number), Tick::ZERO);
    }
    deliveries.prune(Tick::new(10_000));
    assert_eq!(deliveries.len(), 0);
    assert!(
        deliveries
            .take_answered(&named("0", None, None), NOW)
            .is_none(),
        "the oldest is forgotten"
    );
    assert_eq!(
        seq(deliveries.take_answered(&named("1", None, None), NOW)),
        Some(1)
    );
}
