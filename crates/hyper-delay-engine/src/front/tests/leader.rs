//! Random requests of connections, with a leader that is some messages behind, and that is replaced
//! now and then. In the end it has registered what the front says, and after another schedule of each
//! connection the route of that.

use std::collections::VecDeque;

use super::*;

const CONNECTIONS: [ConsumerId; 3] = [1, 2, 3];
const SHARD: ShardId = ShardId(0);

/// A request on its way to the leader.
#[derive(Debug)]
enum ToLeader {
    Register(Arc<str>, RegisterMode),
    Unregister(Arc<str>),
    /// It is refused, or not.
    Schedule(bool),
}

/// A message on its way to the front.
#[derive(Debug)]
enum ToFront {
    Reply(ConsumerId, Pending, Reply),
    Replaced(ConsumerId, Arc<str>),
}

struct World {
    random: fastrand::Rng,
    front: Front<()>,
    to_leader: VecDeque<(ConsumerId, Pending, ToLeader)>,
    to_front: VecDeque<ToFront>,
    /// The consumers of each route, as the leader knows them.
    leader: BTreeMap<Arc<str>, BTreeMap<ConsumerId, RegisterMode>>,
}

impl World {
    fn new(seed: u64) -> Self {
        let new_ids = NewIds::seeded(seed);
        let front = Front::new(FrontSettings::from(&Config::default()), 1);
        let mut front = front.with_new_ids(new_ids);
        for connection in CONNECTIONS {
            front.open(connection);
        }
        Self {
            random: fastrand::Rng::with_seed(seed),
            front,
            to_leader: VecDeque::new(),
            to_front: VecDeque::new(),
            leader: BTreeMap::new(),
        }
    }

    fn step(&mut self) {
        let connection = *self.random.choice(&CONNECTIONS).unwrap();
        match self.random.u8(0..12) {
            0 | 1 => self.schedules(connection),
            2 => self.registers(connection),
            3 => self.unregisters(connection),
            4..=6 => self.reach_leader(),
            7..=10 => self.reach_front(),
            _ if self.random.u8(0..6) == 0 => self.change_leader(),
            _ => {}
        }
    }

    fn schedules(&mut self, connection: ConsumerId) {
        let is_refused = self.random.bool();
        self.schedule(connection, is_refused);
    }

    /// Returns the route.
    fn schedule(&mut self, connection: ConsumerId, is_refused: bool) -> Arc<str> {
        let named = schedule(&mut self.front, connection).unwrap();
        let request = ToLeader::Schedule(is_refused);
        self.to_leader
            .push_back((connection, named.pending, request));
        named.route
    }

    /// Returns a route of some connection, or another one.
    fn any_route(&mut self) -> Arc<str> {
        let owner = *self.random.choice(&CONNECTIONS).unwrap();
        let own = self.front.own_route(owner).cloned();
        let own = own.filter(|_| self.random.u8(0..3) > 0);
        own.unwrap_or_else(|| (*self.random.choice(&["a", "b"]).unwrap()).into())
    }

    fn registers(&mut self, connection: ConsumerId) {
        let route = self.any_route();
        let mode = match self.random.bool() {
            true => RegisterMode::Exclusive,
            false => RegisterMode::Shared,
        };
        let registration = Registration {
            mode,
            ..registration(None)
        };
        let pending = self.front.register(connection, &route, registration, 0);
        let request = ToLeader::Register(route, mode);
        self.to_leader
            .push_back((connection, pending.unwrap(), request));
    }

    fn unregisters(&mut self, connection: ConsumerId) {
        let route = self.any_route();
        let pending = self.front.unregister(connection, &route);
        let request = ToLeader::Unregister(route);
        self.to_leader.push_back((connection, pending, request));
    }

    fn reach_leader(&mut self) {
        let Some((connection, pending, request)) = self.to_leader.pop_front() else {
            return;
        };
        let reply = match request {
            ToLeader::Register(route, mode) => {
                self.bind(connection, &route, mode);
                Reply::Registered { route, credit: 0 }
            }
            ToLeader::Unregister(route) => {
                self.leader
                    .entry(route.clone())
                    .or_default()
                    .remove(&connection);
                let reason = Reason::Asked;
                Reply::Unregistered { route, reason }
            }
            ToLeader::Schedule(true) => error(Code::Quota),
            ToLeader::Schedule(false) => Reply::Pong,
        };
        self.to_front
            .push_back(ToFront::Reply(connection, pending, reply));
    }

    /// A connection becomes a consumer; those that cannot share the route with it lose it.
    fn bind(&mut self, connection: ConsumerId, route: &Arc<str>, mode: RegisterMode) {
        let consumers = self.leader.entry(route.clone()).or_default();
        consumers.insert(connection, mode);
        let losers = consumers.extract_if(.., |other, of_other| {
            let is_exclusive =
                mode == RegisterMode::Exclusive || *of_other == RegisterMode::Exclusive;
            *other != connection && is_exclusive
        });
        let lost = losers.map(|(loser, _)| ToFront::Replaced(loser, route.clone()));
        self.to_front.extend(lost);
    }

    fn reach_front(&mut self) {
        match self.to_front.pop_front() {
            None => {}
            Some(ToFront::Replaced(connection, route)) => self.front.replaced(connection, &route),
            Some(ToFront::Reply(connection, pending, mut reply)) => {
                let own = self.front.answered(connection, pending, &mut reply);
                self.register_own(connection, own);
            }
        }
    }

    fn register_own(&mut self, connection: ConsumerId, own: Option<OwnRegistration>) {
        if let Some(OwnRegistration {
            route,
            mode,
            pending,
        }) = own
        {
            let request = ToLeader::Register(route, mode);
            self.to_leader.push_back((connection, pending, request));
        }
    }

    /// What is on its way is lost. The next leader gets the registrations, and then what follows.
    fn change_leader(&mut self) {
        self.leader.clear();
        let replies = std::mem::take(&mut self.to_front).into_iter();
        let replies = replies.filter_map(|message| match message {
            ToFront::Reply(connection, pending, _) => Some((connection, pending)),
            ToFront::Replaced(..) => None,
        });
        let requests = std::mem::take(&mut self.to_leader).into_iter();
        let requests = requests.map(|(connection, pending, _)| (connection, pending));
        for (connection, pending) in replies.chain(requests).collect::<Vec<_>>() {
            let own = self.front.unanswered(connection, pending, NoAnswer::Lost);
            self.register_own(connection, own);
        }
        for connection in CONNECTIONS {
            let routes = self.front.routes_of(connection, SHARD);
            let routes: Vec<_> = routes.map(|(route, mode)| (route.clone(), mode)).collect();
            for (route, mode) in routes {
                self.bind(connection, &route, mode);
            }
        }
    }

    fn end(mut self) {
        self.settle();
        for connection in CONNECTIONS {
            let route = self.schedule(connection, false);
            self.settle();
            assert!(self.front.has_route(connection, &route));
            assert!(self.leader[&route].contains_key(&connection));
        }
    }

    /// Nothing is on its way any more.
    fn settle(&mut self) {
        while !self.to_leader.is_empty() || !self.to_front.is_empty() {
            self.reach_leader();
            self.reach_front();
        }
        for connection in CONNECTIONS {
            let of_front = self.front.routes_of(connection, SHARD);
            let of_front: BTreeMap<_, _> = of_front
                .map(|(route, mode)| (route.clone(), mode))
                .collect();
            let of_leader = self.leader.iter().filter_map(|(route, consumers)| {
                let mode = consumers.get(&connection)?;
                Some((route.clone(), *mode))
            });
            let of_leader: BTreeMap<_, _> = of_leader.collect();
            assert_eq!(of_front, of_leader, "connection {connection}");
            let mut routes = of_front.keys();
            let has = routes.all(|route| self.front.has_route(connection, route));
            assert!(has && self.front.is_idle(connection, NOW) == of_front.is_empty());
        }
    }
}

#[test]
fn front_and_leader_agree_in_the_end() {
    for seed in 0..3_000 {
        let mut world = World::new(seed);
        for _ in 0..world.random.usize(1..120) {
            world.step();
        }
        world.end();
    }
}
