//! Random events of connections against a model that remembers everything.

mod deliveries;
mod loans;
mod model;

use super::*;
use loans::LoansOfAll;
use model::{Asked, Model, Place, Sent, State};

const CONNECTIONS: [ConsumerId; 3] = [1, 2, 3];
const ROUTES: [&str; 3] = ["a", "b", "c"];
const IDS: [&str; 3] = ["x", "y", "z"];
const MOST_OF_ONE: usize = 3;
const MOST: usize = 5;
const CREDIT: u16 = 4;

struct World {
    random: fastrand::Rng,
    front: Front<Place>,
    model: Model,
    loans: LoansOfAll,
    /// Requests without an answer, by their place in the model.
    pending: Vec<(ConsumerId, Pending, usize)>,
    now: Tick,
    /// From 1 on. None has 0.
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
            seq: 1,
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
            let asked = &mut self.model.asked[place];
            asked.is_applied = Some(asked.is_needed);
            (asked.credit, asked.accept) = (None, None);
            return;
        }
        let registered = self.model.routes_by(connection, |_| false);
        let of_route = |it: &Asked| it.connection == connection && it.route == route;
        let is_applied = |it: &Asked| of_route(it) && it.is_applied == Some(true);
        let last = self.model.asked.iter().rposition(is_applied);
        let is_unanswered = |it: &Asked| of_route(it) && it.is_sent && it.is_applied.is_none();
        let decides = self.model.asked.iter().rposition(is_unanswered);
        let decides = decides.filter(|decides| Some(*decides) > last);
        let is_decided = last.is_some_and(|last| last > place);
        let lacks = !is_decided && !registered.contains(&route);
        if let Some(decides) = decides.filter(|_| lacks && !self.model.asked[place].is_sent) {
            let decides = &mut self.model.asked[decides];
            decides.is_needed |= decides.has;
        }
        let asked = &mut self.model.asked[place];
        let is_needed = !asked.is_sent && lacks && decides.is_none();
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

    fn replaced(&mut self, connection: ConsumerId) {
        let own = self.model.own.get(&connection).cloned();
        let route = own.filter(|_| self.random.bool());
        let route = route.unwrap_or_else(|| (*self.random.choice(&ROUTES).unwrap()).into());
        self.front.replaced(connection, &route);
        self.model.take(connection, &route);
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
