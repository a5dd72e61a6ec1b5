//! Schedules without a route: their tasks are on a route that the server makes for the connection.
//!
//! A client learns that route with the reply. The checks know it as soon as the schedule is on its way
//! to the leader. Once nothing goes wrong any more, the consumers register the routes of all, for the
//! tasks of connections that are closed. They are drawn from a generator of their own: histories
//! without them do not depend on them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    client_requests::request_event,
    events::{ProcessId, SimulationEvent},
    task_name::TaskName,
    world::{MILLI, START, World},
};
use crate::forward::wire::{ForwardedRequest, ToLeader};
use hyper_delay_engine::scheduler::{ConsumerId, RouteRequest};
use hyper_delay_protocol::{
    Compression, Headers, RegisterMode, Schedule, TaskRequest, own_route::OwnRoute,
};

/// From this long after the beginning of the calm on, consumers register the routes of others.
const ADOPTION: u64 = 8_000 * MILLI;

/// They do so at the latest then, if requests are always on their way.
const LATEST_ADOPTION: u64 = 60_000 * MILLI;

/// Returns whether a task was scheduled without a route.
pub(super) fn is_without_route(id: &str) -> bool {
    id.starts_with("own-")
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct OwnRoutes {
    random: fastrand::Rng,
    /// The number of schedules to come.
    left: usize,
    made: usize,
    /// The most tasks that may wait on such a route.
    pub(super) pending: Option<u64>,
    /// The latest route of each connection.
    routes: BTreeMap<ConsumerId, Arc<str>>,
    /// All of them.
    all: BTreeSet<Arc<str>>,
    /// Those that a connection has registered, of any connection.
    adopted: BTreeSet<(ConsumerId, Arc<str>)>,
    /// They were compared with what the leaders know.
    are_compared: bool,
}

impl OwnRoutes {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6f77_6e00);
        let are_made = random.u8(0..4) == 0;
        let (number, pending) = (random.usize(1..30), random.u64(0..3));
        let is_limited = random.u8(0..3) == 0;
        Self {
            random,
            left: if are_made { number } else { 0 },
            made: 0,
            pending: (are_made && is_limited).then_some(pending),
            routes: BTreeMap::new(),
            all: BTreeSet::new(),
            adopted: BTreeSet::new(),
            are_compared: false,
        }
    }

    pub(super) const fn are_made(&self) -> bool {
        self.left > 0
    }
}

impl World {
    /// A client schedules a task without a route, leaves the route of earlier ones, or takes that of
    /// another client.
    pub(super) fn act_without_route(&mut self) {
        if self.is_calm() || !self.own_routes.are_made() {
            return;
        }
        let own = &mut self.own_routes;
        let pause = own.random.u64(0..800) * MILLI;
        let ahead = own.random.u64(0..4_000);
        let action = own.random.u8(0..10);
        let client = own.random.usize(0..self.clients.clients.len());
        self.after(pause, SimulationEvent::WithoutRoute);
        let Some((consumer, life)) = self.clients.clients[client].connection else {
            return;
        };
        let consumes = self.clients.consumes(client);
        let own = &mut self.own_routes;
        let left = own.routes.get(&consumer).filter(|_| action < 2).cloned();
        let taken = own.random.choice(&own.all).cloned();
        let taken = taken.filter(|_| consumes && (2..4).contains(&action));
        let request = match (left, taken) {
            (Some(route), _) => TaskRequest::Unregister { route },
            (None, Some(route)) => TaskRequest::Register {
                route,
                credit: self.clients.clients[client].credit,
                mode: match own.random.bool() {
                    true => RegisterMode::Exclusive,
                    false => RegisterMode::Shared,
                },
                accept: self.clients.accept,
            },
            (None, None) => {
                own.left -= 1;
                own.made += 1;
                TaskRequest::Schedule(Schedule {
                    id: Some(format!("own-{}", own.made).into()),
                    route: None,
                    due: self.clients.due(START + self.at / MILLI, ahead),
                    compression: Compression::None,
                    payload: Box::default(),
                    replace: false,
                    headers: Headers::default(),
                    terms: None,
                })
            }
        };
        self.after(
            0,
            SimulationEvent::Forwarder(life, request_event(consumer, request)),
        );
    }

    /// A message is on its way to a leader: with a schedule, its route is known.
    pub(super) fn note_own_route(&mut self, message: &ToLeader) {
        let ToLeader::Request(consumer, _, request) = message else {
            return;
        };
        let ForwardedRequest::Request(RouteRequest::Schedule {
            route,
            id,
            schedule,
            ..
        }) = &**request
        else {
            return;
        };
        if !is_without_route(id) {
            return;
        }
        let (route, id) = (route.clone(), id.clone());
        if OwnRoute::parse(&route).is_some() {
            self.own_routes.routes.insert(*consumer, route.clone());
            self.own_routes.all.insert(route.clone());
        }
        let tracked = self.checks.tasks.entry(TaskName { route, id }).or_default();
        if tracked.sent == 0 {
            tracked.set_due(schedule.due, START + self.at / MILLI);
        }
        tracked.sent += 1;
    }

    /// A consumer registers the routes of all connections, once nothing goes wrong any more.
    pub(super) fn adopt_own_routes(
        &mut self,
        client: usize,
        (consumer, life): (ConsumerId, ProcessId),
    ) {
        if self.at < self.calm + ADOPTION || !self.clients.consumes(client) {
            return;
        }
        if !self.own_routes.are_compared {
            match self.own_routes_agree() {
                Ok(are_compared) => self.own_routes.are_compared = are_compared,
                Err(broken) => self.check(Err(broken)),
            }
            // After the first registration here there is nothing to compare.
            if !self.own_routes.are_compared && self.at < self.calm + LATEST_ADOPTION {
                return;
            }
            self.own_routes.are_compared = true;
        }
        let own = &mut self.own_routes;
        let not_yet = |route: &&Arc<str>| !own.adopted.contains(&(consumer, (*route).clone()));
        let routes: Vec<Arc<str>> = own.all.iter().filter(not_yet).cloned().collect();
        for route in routes {
            self.own_routes.adopted.insert((consumer, route.clone()));
            let request = TaskRequest::Register {
                route,
                credit: self.clients.clients[client].credit,
                mode: RegisterMode::Shared,
                accept: self.clients.accept,
            };
            self.after(
                0,
                SimulationEvent::Forwarder(life, request_event(consumer, request)),
            );
        }
    }

    /// The registration of an own route was refused. Returns false if it is another route.
    pub(super) fn adopt_again(&mut self, consumer: ConsumerId, route: &Arc<str>) -> bool {
        self.own_routes.adopted.remove(&(consumer, route.clone()));
        OwnRoute::parse(route).is_some()
    }

    /// Before the routes are adopted: a leader has a consumer of each that a connection has, and of no
    /// other one. Returns whether they were compared: no request was on its way.
    fn own_routes_agree(&self) -> Result<bool, String> {
        let processes = self.nodes.iter().map(|node| node.process.as_ref());
        let Some(processes) = processes.collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        if !processes.iter().all(|process| process.forwarder.is_quiet()) {
            return Ok(false);
        }
        let count = self.charter.shards;
        for route in &self.own_routes.all {
            let has = processes
                .iter()
                .any(|process| process.forwarder.has_route(route));
            let shards = processes.iter().flat_map(|process| &process.shards);
            let mut known =
                shards.filter_map(|shard| shard.has_consumers(route, count, processes.len()));
            let at_leader = known.next();
            if at_leader.is_some_and(|at_leader| at_leader != has) {
                return Err(format!(
                    "{route} has a connection: {has}, and a consumer: {at_leader:?}"
                ));
            }
        }
        Ok(true)
    }
}
