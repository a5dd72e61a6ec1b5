//! Random events of connections against a model that remembers everything.

mod loans;

use std::{cell::Cell, rc::Rc};

use super::*;
use loans::LoansOfAll;

const CONNECTIONS: [ConsumerId; 3] = [1, 2, 3];
const ROUTES: [&str; 3] = ["a", "b", "c"];
const IDS: [&str; 3] = ["x", "y", "z"];
const MOST_OF_ONE: usize = 3;
const MOST: usize = 5;
const CREDIT: u16 = 4;

/// A change of a route that was asked for.
#[derive(Debug)]
struct Asked {
    connection: ConsumerId,
    route: Arc<str>,
    has: bool,
    /// The credit that it asks for, and the compressions that it accepts.
    credit: Option<u16>,
    accept: Option<Accept>,
    /// `None`: it is not answered.
    is_applied: Option<bool>,
    /// The scheduler was asked. Otherwise that follows once a schedule is accepted.
    is_sent: bool,
    /// Another connection has taken the route since it took effect.
    is_taken: bool,
}

/// Where a delivery comes from.
#[derive(Debug, Clone, Default)]
struct Place {
    is_revoked: Rc<Cell<bool>>,
    expires: Option<Tick>,
}

impl Origin for Place {
    fn is_revoked(&self) -> bool {
        self.is_revoked.get()
    }

    fn has_expired(&self, now: Tick) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Queued,
    Sent,
    Done,
}

#[derive(Debug)]
struct Sent {
    connection: ConsumerId,
    id: Arc<str>,
    delivery: Delivery<Place>,
    state: State,
    /// Whether it is the one in flight of its id.
    is_in_flight: bool,
}

impl Sent {
    /// It is not in flight any more. A lost one is not remembered then.
    fn end(&mut self) {
        self.is_in_flight = false;
        if self.delivery.is_lost {
            self.state = State::Done;
        }
    }
}

/// Everything that has happened.
#[derive(Debug, Default)]
struct Model {
    open: BTreeSet<ConsumerId>,
    closing: BTreeSet<ConsumerId>,
    asked: Vec<Asked>,
    sent: Vec<Sent>,
    own: BTreeMap<ConsumerId, Arc<str>>,
}

impl Model {
    fn routes(&self, connection: ConsumerId) -> BTreeSet<Arc<str>> {
        self.routes_by(connection, |_| true)
    }

    /// The routes of a connection if of the unanswered requests only such count.
    fn routes_by(
        &self,
        connection: ConsumerId,
        counts: impl Fn(&Asked) -> bool,
    ) -> BTreeSet<Arc<str>> {
        let mut routes = BTreeMap::new();
        for asked in &self.asked {
            let counts = match asked.is_applied {
                Some(is_applied) => is_applied,
                None => counts(asked),
            };
            if asked.connection == connection && counts && !asked.is_taken {
                routes.insert(asked.route.clone(), asked.has);
            }
        }
        let has = routes.into_iter().filter(|(_, has)| *has);
        has.map(|(route, _)| route).collect()
    }

    fn all_routes(&self) -> usize {
        let connections = self.open.iter();
        connections.map(|it| self.routes(*it).len()).sum()
    }

    /// What a connection has last asked for and got.
    fn granted<T>(
        &self,
        connection: ConsumerId,
        option: impl Fn(&Asked) -> Option<T>,
    ) -> Option<T> {
        let asked = self.asked.iter().rev();
        let mut of_it = asked.filter(|it| it.connection == connection);
        of_it.find_map(|it| option(it).filter(|_| it.is_applied == Some(true)))
    }

    fn credit(&self, connection: ConsumerId) -> u16 {
        self.granted(connection, |it| it.credit).unwrap_or(CREDIT)
    }

    fn accept(&self, connection: ConsumerId) -> Accept {
        let granted = self.granted(connection, |it| it.accept);
        granted.unwrap_or_default()
    }

    /// The most that a connection may have in flight: a lower credit holds from when it is asked for.
    fn credit_limit(&self, connection: ConsumerId) -> u16 {
        let is_of_it = |it: &Asked| it.connection == connection && it.credit.is_some();
        let granted = |it: &Asked| is_of_it(it) && it.is_applied == Some(true);
        let last = self.asked.iter().rposition(granted);
        let later = self.asked.iter().skip(last.map_or(0, |last| last + 1));
        let asked = later.filter(|it| is_of_it(it) && it.is_applied.is_none());
        let lowest = asked.filter_map(|it| it.credit).min();
        self.credit(connection).min(lowest.unwrap_or(u16::MAX))
    }

    /// Whether the connection may not have the route, too.
    fn is_refused(&self, connection: ConsumerId, route: &Arc<str>) -> bool {
        let routes = self.routes(connection);
        let is_full = routes.len() >= MOST_OF_ONE || self.all_routes() >= MOST;
        is_full && !routes.contains(route)
    }

    /// Another connection takes a route.
    fn take(&mut self, connection: ConsumerId, route: &str) {
        let of_route = |it: &Asked| it.connection == connection && *it.route == *route;
        let is_in_effect = |it: &Asked| it.is_applied == Some(true);
        let last = self
            .asked
            .iter()
            .rposition(|it| of_route(it) && is_in_effect(it));
        let before = self.asked.iter_mut().take(last.map_or(0, |last| last + 1));
        for asked in before.filter(|it| of_route(it)) {
            asked.is_taken = true;
        }
    }

    fn ask(
        &mut self,
        connection: ConsumerId,
        route: Arc<str>,
        has: bool,
        (credit, accept): (Option<u16>, Option<Accept>),
    ) {
        self.asked.push(Asked {
            connection,
            route,
            has,
            credit,
            accept,
            is_applied: None,
            is_sent: true,
            is_taken: false,
        });
    }

    fn of(&mut self, connection: ConsumerId, id: &str) -> impl Iterator<Item = &mut Sent> {
        let sent = self.sent.iter_mut();
        sent.filter(move |it| it.connection == connection && *it.id == *id)
    }

    fn in_flight(&mut self, connection: ConsumerId, id: &str) -> Option<&mut Sent> {
        self.of(connection, id).find(|it| it.is_in_flight)
    }
}

struct World {
    random: fastrand::Rng,
    front: Front<Place>,
    model: Model,
    loans: LoansOfAll,
    /// Requests without an answer, by their place in the model.
    pending: Vec<(ConsumerId, Pending, usize)>,
    now: Tick,
    seq: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let config = Config {
            credit: CREDIT,
            max_routes_per_connection: MOST_OF_ONE,
            max_routes: MOST,
            ..Config::default()
        };
        Self {
            random: fastrand::Rng::with_seed(seed),
            front: Front::new(FrontSettings::from(&config), 2),
            model: Model::default(),
            loans: LoansOfAll::default(),
            pending: Vec::new(),
            now: Tick::new(1_000),
            seq: 0,
        }
    }

    fn step(&mut self) {
        let connection = *self.random.choice(&CONNECTIONS).unwrap();
        match self.random.u8(0..20) {
            0 => self.open_or_close(connection),
            1 | 2 => self.register(connection),
            3 => self.unregister(connection),
            4 => self.schedule(connection),
            5 | 6 => self.answer(),
            7 | 8 => self.deliver(connection),
            9 => self.ack(connection),
            10 => self.not_sent(connection),
            11 => self.replaced(connection),
            12 => self.nack(connection),
            13 => self.close_soon(connection),
            14 => self.extend(connection),
            15 => self.lose(connection),
            16 => self.revoke(),
            17 | 18 => self
                .loans
                .step(&mut self.random, &mut self.front, connection),
            _ => self.pass(),
        }
        for connection in &self.model.open {
            let limit = self.model.credit_limit(*connection);
            self.loans.balance(&mut self.front, *connection, limit);
        }
        self.check();
    }

    fn open_or_close(&mut self, connection: ConsumerId) {
        if self.random.bool() && self.model.open.insert(connection) {
            self.front.open(connection);
        } else if self.random.u8(0..4) == 0 && self.model.open.remove(&connection) {
            assert!(self.front.close(connection));
            self.forget(connection);
        }
    }

    /// Answers to a closed connection change nothing.
    fn forget(&mut self, connection: ConsumerId) {
        for (of, pending, place) in std::mem::take(&mut self.pending) {
            match of == connection {
                true => assert!(self.front.accepted(of, pending).is_none()),
                false => self.pending.push((of, pending, place)),
            }
        }
        // The places stay.
        let of_it = self.model.asked.iter_mut();
        for asked in of_it.filter(|it| it.connection == connection) {
            asked.is_applied = Some(false);
        }
        self.model.sent.retain(|it| it.connection != connection);
        self.model.own.remove(&connection);
        self.model.closing.remove(&connection);
        self.loans.forget(connection);
    }

    fn close_soon(&mut self, connection: ConsumerId) {
        if self.random.u8(0..4) == 0 {
            let is_news =
                self.model.open.contains(&connection) && self.model.closing.insert(connection);
            assert_eq!(self.front.close_soon(connection), is_news);
        }
    }

    /// The time of a delivery is extended that a touch has named.
    fn extend(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let until = self.now + self.random.u64(0..80);
        let named = DeliverySelector {
            id: id.clone(),
            route: None,
            attempt: self.random.bool().then(|| self.random.u32(1..3)),
        };
        let is_extended = self.front.extend(connection, &named, until).is_some();
        let in_flight = self.model.in_flight(connection, &id);
        let in_flight = in_flight.filter(|it| {
            let attempt = it.delivery.attempt;
            named.attempt.is_none_or(|named| named == attempt)
        });
        assert_eq!(is_extended, in_flight.is_some());
        if let Some(in_flight) = in_flight {
            in_flight.delivery.until = in_flight.delivery.until.max(until);
        }
    }

    fn lose(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let is_of_it = self.random.u8(0..4) > 0;
        let in_flight = self.model.in_flight(connection, &id);
        let Some(in_flight) = in_flight else {
            return self.front.lose(connection, &id, 0);
        };
        in_flight.delivery.is_lost |= is_of_it;
        let other = u64::from(!is_of_it) * 1_000_000;
        let seq = in_flight.delivery.seq + other;
        self.front.lose(connection, &id, seq);
    }

    /// A delivery is not to be sent any more, if it is not yet.
    fn revoke(&mut self) {
        let queued = self
            .model
            .sent
            .iter()
            .filter(|it| it.state == State::Queued);
        let queued: Vec<_> = queued.collect();
        if let Some(queued) = self.random.choice(&queued) {
            queued.delivery.origin.is_revoked.set(true);
        }
    }

    fn register(&mut self, connection: ConsumerId) {
        if !self.model.open.contains(&connection) {
            return;
        }
        let route: Arc<str> = (*self.random.choice(&ROUTES).unwrap()).into();
        let credit = self.random.bool().then(|| self.random.u16(0..10));
        let compressions: &[Compression] = match self.random.bool() {
            true => &[Compression::Zstd],
            false => &[],
        };
        let accept = self.random.bool().then(|| Accept::only(compressions));
        let is_refused = self.model.is_refused(connection, &route);
        let registration = Registration {
            accept,
            ..registration(credit)
        };
        let registered = self.front.register(connection, &route, registration, 0);
        assert_eq!(registered.is_err(), is_refused);
        if let Ok(pending) = registered {
            self.pending
                .push((connection, pending, self.model.asked.len()));
            self.model.ask(connection, route, true, (credit, accept));
        }
    }

    fn unregister(&mut self, connection: ConsumerId) {
        if !self.model.open.contains(&connection) {
            return;
        }
        let route: Arc<str> = (*self.random.choice(&ROUTES).unwrap()).into();
        let pending = self.front.unregister(connection, &route);
        self.pending
            .push((connection, pending, self.model.asked.len()));
        self.model.ask(connection, route, false, (None, None));
    }

    fn schedule(&mut self, connection: ConsumerId) {
        let named = schedule(&mut self.front, connection);
        if !self.model.open.contains(&connection) {
            return assert!(named.is_err(), "there is no connection");
        }
        let routes = self.model.routes(connection);
        let own = self.model.own.get(&connection);
        let only = routes.first().filter(|_| routes.len() == 1);
        let (is_own, route) = match (only, own) {
            (Some(only), own) => (own == Some(only), Some(only.clone())),
            (None, own) => (true, own.cloned()),
        };
        let registered = self.model.routes_by(connection, |_| false);
        let may_lack = route.as_ref().is_none_or(|route| {
            let is_of_it = |it: &Asked| it.connection == connection && it.route == *route;
            let ends = |it: &Asked| is_of_it(it) && it.is_applied.is_none() && !it.has;
            !registered.contains(route) || self.model.asked.iter().any(ends)
        });
        let new: Arc<str> = "an own route".into();
        if is_own
            && self
                .model
                .is_refused(connection, route.as_ref().unwrap_or(&new))
        {
            return assert!(named.is_err());
        }
        let named = named.unwrap();
        if let Some(route) = &route {
            assert_eq!(named.route, *route);
        }
        assert_eq!(!named.pending.is_none(), is_own && may_lack);
        if is_own {
            self.model.own.insert(connection, named.route.clone());
        }
        if !named.pending.is_none() {
            assert!(is_own);
            self.pending
                .push((connection, named.pending, self.model.asked.len()));
            self.model.ask(connection, named.route, true, (None, None));
            self.model.asked.last_mut().unwrap().is_sent = false;
        }
    }

    /// The answers come in any order.
    fn answer(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let next = self.random.usize(0..self.pending.len());
        let (connection, pending, place) = self.pending.swap_remove(next);
        let route = self.model.asked[place].route.clone();
        if self.random.bool() {
            self.front.refused(connection, pending);
            self.model.asked[place].is_applied = Some(false);
            return;
        }
        let registered = self.model.routes_by(connection, |_| false);
        let of_route = |it: &Asked| it.connection == connection && it.route == route;
        let is_applied = |it: &Asked| of_route(it) && it.is_applied == Some(true);
        let last = self.model.asked.iter().rposition(is_applied);
        let later = self
            .model
            .asked
            .iter()
            .skip(last.map_or(0, |last| last + 1));
        let is_unanswered = |it: &Asked| of_route(it) && it.is_sent && it.is_applied.is_none();
        let is_asked = later.clone().any(is_unanswered);
        let decided = last.is_some_and(|last| last > place);
        let asked = &mut self.model.asked[place];
        let is_needed = !asked.is_sent && !registered.contains(&route) && !is_asked && !decided;
        let own = self.front.accepted(connection, pending);
        assert_eq!(own.is_some(), is_needed);
        match own {
            Some(own) => {
                assert_eq!(own.route, route);
                asked.is_sent = true;
                self.pending.push((connection, own.pending, place));
            }
            None => asked.is_applied = Some(asked.is_sent),
        }
    }

    fn deliver(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let until = self.now + self.random.u64(1..60);
        self.seq += u64::from(self.random.bool());
        let delivery = Delivery {
            route: (*self.random.choice(&ROUTES).unwrap()).into(),
            seq: self.seq,
            attempt: self.random.u32(1..3),
            until,
            write_by: Tick::new(until.value() - 1),
            is_lost: false,
            origin: Place {
                is_revoked: Rc::default(),
                expires: self
                    .random
                    .bool()
                    .then(|| self.now + self.random.u64(1..60)),
            },
        };
        let now = self.now;
        let admission = self.front.deliver(connection, &id, delivery.clone(), now);
        let takes_more =
            self.model.open.contains(&connection) && !self.model.closing.contains(&connection);
        let confuses = self.model.of(connection, &id).any(|it| {
            it.state == State::Sent && {
                let it = &it.delivery;
                it.seq != delivery.seq
                    && (&it.route, it.attempt) == (&delivery.route, delivery.attempt)
            }
        });
        if !takes_more || confuses {
            return assert_eq!(admission, Admission::Void);
        }
        let before = self.model.in_flight(connection, &id);
        let is_queued = before
            .as_ref()
            .is_some_and(|it| it.delivery.until > now && it.delivery.route != delivery.route);
        if let Some(before) = before.filter(|_| !is_queued) {
            before.end();
        }
        let accept = self.model.accept(connection);
        let expected = match is_queued {
            true => Admission::Queued,
            false => Admission::Send(accept),
        };
        assert_eq!(admission, expected);
        let state = if is_queued {
            State::Queued
        } else {
            State::Sent
        };
        self.model.sent.push(Sent {
            connection,
            id,
            delivery,
            state,
            is_in_flight: !is_queued,
        });
    }

    fn ack(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let named = DeliverySelector {
            id: id.clone(),
            route: self
                .random
                .bool()
                .then(|| (*self.random.choice(&ROUTES).unwrap()).into()),
            attempt: self.random.bool().then(|| self.random.u32(1..3)),
        };
        let found = self.front.ack(connection, &named, self.now);
        self.end_overdue(found.as_ref());
        let matches = |it: &&mut Sent| {
            let delivery = &it.delivery;
            it.state == State::Sent
                && named.route.as_ref().is_none_or(|it| *it == delivery.route)
                && named.attempt.is_none_or(|it| it == delivery.attempt)
        };
        let expected = self.model.of(connection, &id).filter(matches).last();
        let answered = expected.map(|it| {
            it.state = State::Done;
            it.is_in_flight = false;
            (it.delivery.seq, it.delivery.attempt)
        });
        let found = found.map(|it| (it.seq, it.attempt));
        assert_eq!(found, answered, "{named:?}");
        self.release(connection, &id);
    }

    /// When the front looks for those whose time has passed is its own matter. One was `answered`.
    fn end_overdue(&mut self, answered: Option<&Delivery<Place>>) {
        for it in &mut self.model.sent {
            if it.is_in_flight && it.delivery.until <= self.now {
                let of_front = self.front.in_flight_of(it.connection, &it.id);
                let is_answered = answered.is_some_and(|answered| {
                    Rc::ptr_eq(&answered.origin.is_revoked, &it.delivery.origin.is_revoked)
                });
                if of_front.is_none() && !is_answered {
                    it.end();
                }
            }
        }
    }

    fn replaced(&mut self, connection: ConsumerId) {
        let own = self.model.own.get(&connection).cloned();
        let route = own.filter(|_| self.random.bool());
        let route = route.unwrap_or_else(|| (*self.random.choice(&ROUTES).unwrap()).into());
        self.front.replaced(connection, &route);
        self.model.take(connection, &route);
    }

    /// A late nack changes nothing.
    fn nack(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let named = DeliverySelector {
            id: id.clone(),
            route: None,
            attempt: self.random.bool().then(|| self.random.u32(1..3)),
        };
        let given_back = self.front.nack(connection, &named, None, self.now).unwrap();
        let answered = given_back.as_ref().filter(|it| !it.was_late);
        self.end_overdue(answered.map(|it| &it.delivery));
        let matches = |it: &&mut Sent| {
            it.state == State::Sent
                && named
                    .attempt
                    .is_none_or(|attempt| attempt == it.delivery.attempt)
        };
        let now = self.now;
        let latest = self.model.of(connection, &id).filter(matches).last();
        assert_eq!(given_back.is_some(), latest.is_some(), "{named:?}");
        let (Some(given_back), Some(latest)) = (given_back, latest) else {
            return;
        };
        assert_eq!(given_back.delivery.seq, latest.delivery.seq);
        assert!(given_back.was_late || latest.is_in_flight || latest.delivery.until <= now);
        if !given_back.was_late {
            latest.state = State::Done;
            latest.is_in_flight = false;
            self.release(connection, &id);
        }
    }

    fn not_sent(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let Some(in_flight) = self.model.in_flight(connection, &id) else {
            return;
        };
        let seq = in_flight.delivery.seq;
        in_flight.state = State::Done;
        in_flight.is_in_flight = false;
        let removed = self.front.remove_unsent(connection, &id, seq, None);
        assert!(removed.is_some());
        self.release(connection, &id);
    }

    fn release(&mut self, connection: ConsumerId, id: &Arc<str>) {
        let now = self.now;
        let released = self.front.release(connection, id, now);
        let is_free = self.model.in_flight(connection, id).is_none();
        let is_of_id = |it: &Sent| (it.connection, &it.id) == (connection, id);
        let waits = |it: &Sent| is_free && is_of_id(it) && it.state == State::Queued;
        let is_revoked = |it: &Sent| it.delivery.origin.is_revoked.get();
        let next = |it: &Sent| waits(it) && !is_revoked(it);
        let next = self.model.sent.iter().position(next);
        // Those before it that are revoked are dropped.
        let before = self.model.sent.iter_mut();
        for dropped in before.take(next.unwrap_or(usize::MAX)) {
            if waits(dropped) {
                dropped.state = State::Done;
            }
        }
        let Some(place) = next else {
            return assert!(released.is_none(), "{released:?}");
        };
        // They are in the order in which they were sent.
        let mut next = self.model.sent.remove(place);
        next.state = State::Sent;
        next.is_in_flight = true;
        let (seq, goes_back) = (
            next.delivery.seq,
            self.model.closing.contains(&connection) || next.delivery.origin.has_expired(now),
        );
        self.model.sent.push(next);
        let accept = self.model.accept(connection);
        let released = released.map(|(it, accept)| (it.seq, accept));
        assert_eq!(released, Some((seq, (!goes_back).then_some(accept))));
    }

    fn pass(&mut self) {
        self.now = self.now + self.random.u64(0..40);
        let now = self.now;
        let next = self.front.next();
        let (late, free) = self.front.expire(now);
        for sent in &mut self.model.sent {
            if sent.state == State::Queued && sent.delivery.write_by <= now {
                sent.state = State::Done;
                assert!(
                    next.is_some_and(|next| next <= now),
                    "it was not looked for"
                );
            }
        }
        for (connection, id, delivery) in late {
            let it = self.model.of(connection, &id);
            let is_done = |it: &Sent| it.state == State::Done && it.delivery.seq == delivery.seq;
            assert!(it.into_iter().any(|it| is_done(it)), "{delivery:?}");
        }
        for (connection, id, ()) in free {
            if let Some(over) = self.model.in_flight(connection, &id) {
                assert!(over.delivery.until <= now);
                over.end();
            }
            self.release(connection, &id);
        }
    }

    fn check(&mut self) {
        let now = self.now;
        for connection in self.model.open.clone() {
            let routes = self.model.routes(connection);
            let of_front = (0..2).flat_map(|shard| {
                let routes = self.front.routes_of(connection, ShardId(shard));
                routes.map(|(route, _)| route.clone())
            });
            let sent = self.model.routes_by(connection, |asked| asked.is_sent);
            assert_eq!(of_front.collect::<BTreeSet<_>>(), sent);
            let own = self.model.own.get(&connection).into_iter().cloned();
            for route in own.chain(ROUTES.map(Into::into)) {
                let has = self.front.has_route(connection, &route);
                assert_eq!(has, routes.contains(&route), "{route}");
            }
            let options = self.front.options(connection).unwrap();
            let credit = self.model.credit(connection);
            assert_eq!(options, (credit, self.model.accept(connection)));
            let mut in_time = self.model.sent.iter().filter(|it| {
                it.connection == connection && it.is_in_flight && it.delivery.until > now
            });
            let is_idle = routes.is_empty() && in_time.next().is_none();
            assert_eq!(self.front.is_idle(connection, now), is_idle);
            for id in IDS {
                let sent = self.model.of(connection, id);
                assert!(sent.filter(|it| it.is_in_flight).count() <= 1);
            }
        }
        assert_eq!(self.front.routes, self.model.all_routes());
    }
}

#[test]
fn whatever_happens_the_front_does_what_the_model_says() {
    for seed in 0..1_000 {
        let mut world = World::new(seed);
        for _ in 0..world.random.usize(1..200) {
            world.step();
        }
    }
}
