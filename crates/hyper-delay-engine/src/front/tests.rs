mod admission;
mod leader;
mod loans;
mod random;

use super::*;
use crate::scheduler::CreditChange;
use hyper_delay_protocol::{
    Code, Compression, DeliverySelector, Due, Headers, Reason, Refusal, Schedule, TaskRequest,
};

const ONE: ConsumerId = 1;
const TWO: ConsumerId = 2;
const NOW: Tick = Tick::ZERO;

impl<O: Origin> Front<O> {
    /// Returns the credit that schedulers have, without what they are to return.
    pub(crate) fn lent(&self, consumer: ConsumerId) -> u16 {
        self.connections[&consumer].loans.kept()
    }

    /// Returns a delivery of an id, in flight, queued or late, by its revision and round.
    pub(crate) fn delivery(
        &self,
        consumer: ConsumerId,
        id: &str,
        copy: (u64, u32),
    ) -> Option<&Delivery<O>> {
        let mut all = self.connections[&consumer].deliveries.all_of(id);
        all.find(|it| (it.seq, it.attempt) == copy)
    }

    /// Returns the deliveries in flight that can be answered in time, with their ids.
    pub(crate) fn in_time(
        &self,
        consumer: ConsumerId,
        now: Tick,
    ) -> impl Iterator<Item = (&Arc<str>, &Delivery<O>)> {
        let deliveries = &self.connections[&consumer].deliveries;
        deliveries.in_flight().filter(move |(_, it)| it.until > now)
    }

    /// Whether a delivery waits for its id.
    pub(crate) fn queues(&self, consumer: ConsumerId, id: &str, copy: (u64, u32)) -> bool {
        let mut queued = self.connections[&consumer].deliveries.queued_of(id);
        queued.any(|it| (it.seq, it.attempt) == copy)
    }

    /// Returns the deliveries that wait for their ids: connection, revision, round.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (ConsumerId, u64, u32)> {
        self.waiting.iter().flat_map(|consumer| {
            let connection = self.connections.get(consumer).into_iter();
            let queued = connection.flat_map(|it| it.deliveries.queued());
            queued.map(|it| (*consumer, it.seq, it.attempt))
        })
    }
}

fn front(config: &Config) -> Front<()> {
    let mut front = Front::new(FrontSettings::from(config), 4);
    for consumer in [ONE, TWO] {
        front.open(consumer);
    }
    front
}

fn registration(credit: Option<u16>) -> Registration {
    Registration {
        mode: RegisterMode::Shared,
        credit,
        accept: None,
    }
}

fn register(front: &mut Front<()>, consumer: ConsumerId, route: &str) -> Result<Pending, Refusal> {
    front.register(consumer, &route.into(), registration(None), 0)
}

fn bare_schedule(due: Due) -> Schedule {
    Schedule {
        id: None,
        route: None,
        due,
        compression: Compression::None,
        payload: Box::default(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    }
}

fn schedule<O: Origin>(
    front: &mut Front<O>,
    consumer: ConsumerId,
) -> Result<NamedSchedule, Refusal> {
    front.schedule(consumer, &mut bare_schedule(Due::At(0)), None, 0)
}

fn error(code: Code) -> Reply {
    Reply::Error(Refusal::new(code, "no"))
}

#[test]
fn an_input_has_a_delay_if_one_of_its_schedules_has() {
    let input = |dues: &[Due]| {
        let requests = dues.iter().map(|due| ClientRequest {
            tag: None,
            request: TaskRequest::Schedule(bare_schedule(*due)),
            weight: 1,
            grant: None,
        });
        FrontInput::Requested(ONE, requests.collect())
    };
    assert!(input(&[Due::At(7), Due::After(0)]).has_delay());
    for other in [input(&[]), input(&[Due::At(7)]), FrontInput::Opened(ONE)] {
        assert!(!other.has_delay(), "{other:?}");
    }
}

#[test]
fn a_refused_schedule_leaves_no_registration() {
    let mut front = front(&Config::default());
    let first = schedule(&mut front, ONE).unwrap();
    let second = schedule(&mut front, ONE).unwrap();
    assert_eq!(second.route, first.route);
    assert_ne!(second.id, first.id);
    for pending in [first.pending, second.pending] {
        let follows = front.answered(ONE, pending, &mut error(Code::Quota));
        assert!(follows.is_none(), "{follows:?}");
        assert_eq!(
            front.routes_of(ONE, front.shard_of(&first.route)).count(),
            0
        );
    }
    assert!(front.is_idle(ONE, NOW));
}

#[test]
fn the_own_route_is_registered_once_after_the_first_schedule_that_is_accepted() {
    let mut front = front(&Config::default());
    let [first, second] = [0; 2].map(|_| schedule(&mut front, ONE).unwrap());
    let own = front.accepted(ONE, first.pending).expect("it is needed");
    assert_eq!((&own.route, own.mode), (&first.route, RegisterMode::Shared));
    assert!(
        front.accepted(ONE, second.pending).is_none(),
        "it is asked for"
    );
    assert!(front.accepted(ONE, own.pending).is_none());
    let third = schedule(&mut front, ONE).unwrap();
    assert!(third.pending.is_none() && third.route == first.route);
}

/// What the client asks for in vain, its task needs.
#[test]
fn an_accepted_schedule_keeps_the_own_route_if_a_registration_has_no_answer() {
    let mut front = front(&Config::default());
    let first = schedule(&mut front, ONE).unwrap();
    let registers = register(&mut front, ONE, &first.route).unwrap();
    assert!(
        front.accepted(ONE, first.pending).is_none(),
        "it is asked for"
    );
    front.unanswered(ONE, registers, NoAnswer::Lost);
    let shard = front.shard_of(&first.route);
    assert_eq!(front.routes_of(ONE, shard).count(), 1);
}

#[test]
fn a_route_that_is_unregistered_after_its_schedule_is_not_registered() {
    let mut front = front(&Config::default());
    let first = schedule(&mut front, ONE).unwrap();
    let unregister = front.unregister(ONE, &first.route);
    assert!(front.accepted(ONE, first.pending).is_none());
    front.accepted(ONE, unregister);
    assert!(front.is_idle(ONE, NOW));
}

#[test]
fn a_schedule_that_may_have_taken_effect_needs_the_own_route() {
    let mut front = front(&Config::default());
    let first = schedule(&mut front, ONE).unwrap();
    let own = front.unanswered(ONE, first.pending, NoAnswer::Lost);
    assert_eq!(own.expect("it is needed").route, first.route);
    let second = schedule(&mut front, TWO).unwrap();
    let own = front.unanswered(TWO, second.pending, NoAnswer::Unsent);
    assert!(own.is_none() && front.is_idle(TWO, NOW));
}

#[test]
fn a_registration_that_was_to_end_ends_without_a_leader() {
    let mut front = front(&Config::default());
    let pending = register(&mut front, ONE, "a").unwrap();
    front.accepted(ONE, pending);
    let pending = front.unregister(ONE, &"a".into());
    front.unanswered(ONE, pending, NoAnswer::Lost);
    assert!(!front.has_route(ONE, "a"));
}

#[test]
fn a_registration_without_a_leader_changes_neither_routes_nor_credit() {
    let config = Config {
        credit: 10,
        ..Config::default()
    };
    let mut front = front(&config);
    let pending = front.register(ONE, &"a".into(), registration(Some(3)), 0);
    assert_eq!(front.options(ONE).unwrap().0, 10, "not before the reply");
    front.unanswered(ONE, pending.unwrap(), NoAnswer::Lost);
    assert_eq!(front.options(ONE).unwrap().0, 10);
    assert!(front.is_idle(ONE, NOW));
    let pending = front.register(ONE, &"a".into(), registration(Some(3)), 0);
    let mut reply = Reply::Registered {
        route: "a".into(),
        credit: 0,
    };
    front.answered(ONE, pending.unwrap(), &mut reply);
    assert!(
        matches!(reply, Reply::Registered { credit: 3, .. }),
        "{reply:?}"
    );
}

#[test]
fn a_lower_credit_is_recalled_at_once_and_a_higher_one_lent_with_the_reply() {
    let config = Config {
        credit: 10,
        ..Config::default()
    };
    let mut front = front(&config);
    let shard = front.shard_of("a");
    front.begin_loan(ONE, shard, 0);
    assert_eq!(front.balance(ONE), [LoanChange::Lend(shard, 10)]);
    let lower = front.register(ONE, &"a".into(), registration(Some(4)), 0);
    assert_eq!(front.balance(ONE), [LoanChange::Recall(shard, 6)]);
    front.credit_changed(ONE, shard, CreditChange::Returned(6));
    let higher = front.register(ONE, &"a".into(), registration(Some(20)), 0);
    assert_eq!(front.balance(ONE), []);
    front.accepted(ONE, lower.unwrap());
    assert_eq!(front.balance(ONE), []);
    front.accepted(ONE, higher.unwrap());
    assert_eq!(front.balance(ONE), [LoanChange::Lend(shard, 16)]);
}

#[test]
fn a_registration_that_is_answered_after_the_end_of_its_connection_has_its_credit() {
    for (asked, answered) in [(None, 256), (Some(5), 5)] {
        let mut front = front(&Config::default());
        let route = "a".into();
        let pending = front.register(ONE, &route, registration(asked), 0);
        front.close(ONE);
        let mut reply = Reply::Registered { route, credit: 0 };
        front.answered(ONE, pending.unwrap(), &mut reply);
        let Reply::Registered { credit, .. } = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(credit, answered);
    }
}

#[test]
fn routes_are_limited_for_one_connection_and_for_all() {
    let config = Config {
        max_routes_per_connection: 2,
        max_routes: 3,
        ..Config::default()
    };
    let mut front = front(&config);
    let first = register(&mut front, ONE, "a").unwrap();
    let _second = register(&mut front, ONE, "b").unwrap();
    let refusal = register(&mut front, ONE, "c").unwrap_err();
    assert_eq!(refusal.code, Code::TooManyRoutes);
    assert!(register(&mut front, ONE, "a").is_ok(), "it has that one");
    let refusal = schedule(&mut front, ONE).unwrap_err();
    assert!(
        refusal.id.is_some(),
        "a client that repeats it has the id: {refusal:?}"
    );
    let _other = register(&mut front, TWO, "a").unwrap();
    assert!(register(&mut front, TWO, "b").is_err());
    front.refused(ONE, first);
    let again = register(&mut front, TWO, "b");
    assert!(again.is_err(), "the second request for it is unanswered");
    assert!(front.close(ONE) && !front.close(ONE));
    let lingering = front.register(TWO, &"b".into(), registration(None), 2);
    assert!(
        lingering.is_err(),
        "the routes of a closed connection count until they are gone"
    );
    assert!(register(&mut front, TWO, "b").is_ok());
}

#[test]
fn requests_that_are_not_answered_count_for_those_after_them() {
    let mut front = front(&Config::default());
    let register = register(&mut front, ONE, "a").unwrap();
    assert_eq!(&*schedule(&mut front, ONE).unwrap().route, "a");
    let unregister = front.unregister(ONE, &"a".into());
    let own = schedule(&mut front, ONE).unwrap();
    assert!(!own.pending.is_none(), "it has none");
    front.accepted(ONE, register);
    let mut reply = Reply::Unregistered {
        route: "a".into(),
        reason: Reason::Asked,
    };
    front.answered(ONE, unregister, &mut reply);
    assert!(!front.has_route(ONE, "a"));
}

#[test]
fn a_route_that_another_connection_takes_is_gone() {
    let mut front = front(&Config::default());
    let pending = register(&mut front, ONE, "a").unwrap();
    front.accepted(ONE, pending);
    assert!(!front.is_idle(ONE, NOW));
    front.replaced(ONE, "a");
    assert!(front.is_idle(ONE, NOW));
}

#[test]
fn a_route_that_is_taken_counts_for_both_connections_until_its_registration_is_answered() {
    let config = Config {
        max_routes: 2,
        ..Config::default()
    };
    let mut front = front(&config);
    let first = register(&mut front, ONE, "a").unwrap();
    front.accepted(ONE, first);
    let second = register(&mut front, TWO, "a").unwrap();
    assert!(register(&mut front, TWO, "b").is_err());
    front.accepted(TWO, second);
    front.replaced(ONE, "a");
    assert!(register(&mut front, TWO, "b").is_ok());
}

#[test]
fn an_own_route_that_another_connection_takes_is_registered_with_the_next_schedule() {
    let mut front = front(&Config::default());
    let first = schedule(&mut front, ONE).unwrap();
    let own = front.accepted(ONE, first.pending).unwrap();
    front.accepted(ONE, own.pending);
    front.replaced(ONE, &first.route);
    assert!(!front.has_route(ONE, &first.route));
    let second = schedule(&mut front, ONE).unwrap();
    let own = front.accepted(ONE, second.pending).expect("it is needed");
    assert_eq!(own.route, first.route);
}

#[test]
fn a_registration_that_comes_after_the_loss_of_its_route_stands() {
    let mut front = front(&Config::default());
    let first = register(&mut front, ONE, "a").unwrap();
    front.accepted(ONE, first);
    let second = register(&mut front, ONE, "a").unwrap();
    front.replaced(ONE, "a");
    assert!(front.has_route(ONE, "a"), "it is asked for");
    front.accepted(ONE, second);
    assert!(front.has_route(ONE, "a"));
}

#[test]
fn a_late_nack_leaves_the_delivery_for_an_ack() {
    let mut front = front(&Config::default());
    let id: Arc<str> = "x".into();
    let named = DeliverySelector {
        id: id.clone(),
        route: None,
        attempt: Some(1),
    };
    for (seq, attempt) in [(1, 1), (2, 2)] {
        let delivery = Delivery {
            route: "a".into(),
            seq,
            due: 3,
            attempt,
            until: Tick::new(seq),
            write_by: Tick::new(seq),
            is_lost: false,
            origin: (),
        };
        front.deliver(ONE, &id, delivery, NOW);
    }
    let now = Tick::new(5);
    let given_back = front.nack(ONE, &named, None, now).unwrap().unwrap();
    assert!(given_back.was_late && given_back.delivery.seq == 1);
    let by_id = DeliverySelector {
        attempt: None,
        ..named
    };
    let latest = front.ack(ONE, &by_id, now).unwrap();
    assert_eq!(latest.seq, 2, "still the latest");
    assert_eq!(front.ack(ONE, &by_id, now).unwrap().seq, 1);
}
