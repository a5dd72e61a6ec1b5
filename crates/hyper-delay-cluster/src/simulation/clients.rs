//! The clients of the cluster. Each is connected to some node, and to another one when that fails.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    client_requests::{client_request, request_event, requested},
    events::{ProcessId, SimulationEvent},
    simulated_client::SimulatedClient,
    task_name::TaskName,
    world::{MILLI, START, World},
};
use crate::{ShardId, forward::ForwarderEvent, shard_of};
use hyper_delay_engine::{
    front::{ClientRequest, FrontInput},
    scheduler::ConsumerId,
};
use hyper_delay_protocol::{
    Accept, Compression, Due, Headers, RegisterMode, Schedule, TaskRequest, Terms, access::Grant,
};

/// The first client schedules and cancels; it can take deliveries, as the others do.
const PRODUCER: usize = 0;

/// The clients of a history.
#[derive(Debug)]
pub(super) struct SimulatedClients {
    /// The number of tasks that are scheduled.
    tasks: usize,
    made: usize,
    /// A route of each shard.
    pub(super) routes: Vec<Arc<str>>,
    /// Each id belongs to two tasks, of different routes.
    ids_are_shared: bool,
    /// The first client takes deliveries, too.
    producer_consumes: bool,
    /// The percentage of registrations that are exclusive.
    exclusive: u8,
    /// The compressions that registrations name. `None`: they name none.
    pub(super) accept: Option<Accept>,
    /// The percentage of deliveries that are given back or not answered.
    pub(super) lazy: u8,
    pub(super) clients: Vec<SimulatedClient>,
    /// Draws which tasks have a delay and no time, if some do.
    delays: Option<fastrand::Rng>,
    /// Draws other credits for registrations, if clients change theirs.
    credits: Option<fastrand::Rng>,
    /// The number of the last connection.
    last: ConsumerId,
    /// The processes that the connections are or were to.
    pub(super) processes: BTreeMap<ConsumerId, ProcessId>,
}

/// The credits that clients ask for.
const CREDITS: [u16; 4] = [1, 2, 5, 30];

impl SimulatedClients {
    pub(super) fn new(random: &mut fastrand::Rng, seed: u64, shards: u16) -> Self {
        let of = |shard: u16| {
            let mut names = (0..).map(|number| format!("route-{number}"));
            let name = names.find(|name| shard_of(name, shards).0 == shard);
            name.expect("there is one").into()
        };
        let mut credits = fastrand::Rng::with_seed(seed ^ 0x6372_6500);
        let mut delays = fastrand::Rng::with_seed(seed ^ 0x6465_6c00);
        let mut clients = vec![SimulatedClient::default()];
        for _ in 0..random.usize(1..=3) {
            let credit = *random.choice(&CREDITS).expect("there are some");
            clients.push(SimulatedClient {
                credit: random.bool().then_some(credit),
                ..SimulatedClient::default()
            });
        }
        Self {
            tasks: random.usize(5..120),
            made: 0,
            routes: (0..shards).map(of).collect(),
            ids_are_shared: shards > 1
                && fastrand::Rng::with_seed(seed ^ 0x6964_7300).u8(0..4) == 0,
            producer_consumes: random.bool(),
            exclusive: *random.choice(&[0, 0, 20]).expect("there are some"),
            accept: fastrand::Rng::with_seed(seed ^ 0x6163_6300)
                .bool()
                .then(|| Accept::only(&[])),
            lazy: random.u8(0..40),
            delays: (delays.u8(0..3) > 0).then_some(delays),
            credits: (credits.u8(0..4) == 0).then_some(credits),
            clients,
            last: 0,
            processes: BTreeMap::new(),
        }
    }

    /// Returns the route and the id of a task.
    pub(super) fn name(&self, task: usize) -> TaskName {
        let id = match self.ids_are_shared {
            true => task & !1,
            false => task,
        };
        TaskName {
            route: self.routes[task % self.routes.len()].clone(),
            id: format!("task-{id}").into(),
        }
    }

    /// Returns when a task is due that is scheduled at `now`.
    pub(super) fn due(&mut self, now: u64, ahead: u64) -> Due {
        match self.delays.as_mut().is_some_and(fastrand::Rng::bool) {
            true => Due::After(ahead),
            false => Due::At(now + ahead),
        }
    }

    /// Returns the number of tasks that were scheduled.
    pub(super) const fn made(&self) -> usize {
        self.made
    }

    /// Returns the tasks of a shard.
    pub(super) fn made_of(&self, shard: ShardId) -> impl Iterator<Item = usize> {
        (usize::from(shard.0)..self.made).step_by(self.routes.len())
    }

    pub(super) fn consumes(&self, client: usize) -> bool {
        client != PRODUCER || self.producer_consumes
    }

    pub(super) fn of(&self, consumer: ConsumerId) -> Option<usize> {
        let mut clients = self.clients.iter();
        clients.position(|client| client.connection.is_some_and(|(it, _)| it == consumer))
    }
}

impl World {
    /// Clients without a connection connect to a node that runs; now and then one leaves its node.
    pub(super) fn clients_connect(&mut self) {
        for client in 0..self.clients.clients.len() {
            if let Some((consumer, life)) = self.clients.clients[client].connection {
                let is_there = self.process_id(life.node) == life;
                let goes = !self.is_calm() && self.random.u8(0..100) == 0;
                if is_there && !goes {
                    self.leave_route(client, consumer);
                    self.adopt_own_routes(client, (consumer, life));
                    continue;
                }
                self.checks.connection_left(consumer);
                self.disconnect(client, consumer, is_there.then_some(life));
            }
            let takes_clients =
                |node: &usize| self.nodes[*node].process.is_some() && !self.nodes[*node].is_ending;
            let up: Vec<usize> = (0..self.nodes.len()).filter(takes_clients).collect();
            let Some(node) = self.random.choice(up) else {
                continue;
            };
            let life = self.process_id(node);
            self.clients.last += 1;
            let consumer = self.clients.last;
            self.clients.clients[client].connection = Some((consumer, life));
            self.clients.processes.insert(consumer, life);
            let opened = ForwarderEvent::Input(FrontInput::Opened(consumer));
            self.after(0, SimulationEvent::Forwarder(life, opened));
            if self.clients.consumes(client) {
                for route in 0..self.clients.routes.len() {
                    self.register(client, consumer, route, true);
                }
            }
        }
        let pause = self.random.u64(10..100) * MILLI;
        self.after(pause, SimulationEvent::Clients);
    }

    /// The connection of a client is closed, which a process notices. Returns when that has done so.
    fn disconnect(&mut self, client: usize, consumer: ConsumerId, from: Option<ProcessId>) -> u64 {
        self.clients.clients[client].connection = None;
        self.clients.clients[client].in_flight.clear();
        self.clients.clients[client].late_nacks.clear();
        let Some(life) = from else {
            return 0;
        };
        let closing = ForwarderEvent::Input(FrontInput::Closing(consumer));
        self.after(0, SimulationEvent::Forwarder(life, closing));
        let closed = ForwarderEvent::Input(FrontInput::Closed(consumer));
        let pause = self.random.u64(1..5 * MILLI);
        self.after(pause, SimulationEvent::Forwarder(life, closed));
        pause
    }

    /// A process ends, and closes its connections. Returns when that is done.
    pub(super) fn disconnect_all(&mut self, life: ProcessId) -> u64 {
        let ending = ForwarderEvent::Input(FrontInput::ShuttingDown);
        self.after(0, SimulationEvent::Forwarder(life, ending));
        let mut last = 0;
        for client in 0..self.clients.clients.len() {
            if let Some((consumer, to)) = self.clients.clients[client].connection
                && to == life
            {
                last = self.disconnect(client, consumer, Some(life)).max(last);
            }
        }
        last
    }

    /// Now and then a client leaves a route, and registers it again a little later.
    fn leave_route(&mut self, client: usize, consumer: ConsumerId) {
        if !self.is_calm() && self.clients.consumes(client) && self.random.u8(0..60) == 0 {
            let route = self.random.usize(0..self.clients.routes.len());
            self.register(client, consumer, route, false);
            let pause = self.random.u64(1..2_000) * MILLI;
            let again = SimulationEvent::Registers(client, consumer, route, true);
            self.after(pause, again);
        }
    }

    /// A client registers a route, or leaves it, unless it has another connection since.
    pub(super) fn register(
        &mut self,
        client: usize,
        consumer: ConsumerId,
        route: usize,
        joins: bool,
    ) {
        let clients = &self.clients;
        let Some((connected, life)) = clients.clients[client].connection else {
            return;
        };
        if connected != consumer {
            return;
        }
        let name = clients.routes[route].clone();
        if joins && let Some(random) = &mut self.clients.credits {
            let credit = random.choice(&CREDITS).copied();
            self.clients.clients[client].credit = credit.filter(|_| random.bool());
        }
        let clients = &self.clients;
        let request = match joins {
            false => TaskRequest::Unregister { route: name },
            true => TaskRequest::Register {
                route: name,
                credit: clients.clients[client].credit,
                mode: match self.random.u8(0..100) < clients.exclusive {
                    true => RegisterMode::Exclusive,
                    false => RegisterMode::Shared,
                },
                accept: clients.accept,
            },
        };
        self.after(
            0,
            SimulationEvent::Forwarder(life, request_event(consumer, request)),
        );
    }

    /// A client has a route no longer, and registers it again.
    pub(super) fn register_again(
        &mut self,
        client: usize,
        consumer: ConsumerId,
        route: &str,
        pause: u64,
    ) {
        let mut routes = self.clients.routes.iter();
        let route = routes.position(|it| **it == *route);
        let route = route.expect("it is one of them");
        let again = SimulationEvent::Registers(client, consumer, route, true);
        self.after(pause, again);
    }

    /// A client schedules or cancels a task.
    pub(super) fn client_acts(&mut self) {
        let clients = &mut self.clients;
        let is_done = clients.made >= clients.tasks || self.at >= self.calm;
        if is_done {
            return;
        }
        if clients.made > 0 && self.random.u8(0..6) == 0 {
            let task = self.random.usize(0..clients.made);
            self.cancel(PRODUCER, task);
        } else {
            let task = clients.made;
            clients.made += 1;
            let ahead = self.random.u64(0..4_000);
            let now = START + self.at / MILLI;
            let due = clients.due(now, ahead);
            let name = clients.name(task);
            let tracked = self.checks.tasks.entry(name).or_default();
            tracked.set_due(due, now);
            let attempts = (self.random.u8(0..8) == 0).then(|| self.random.u32(1..4));
            tracked.max_attempts = self.operators.max_attempts(attempts);
            self.schedule(task);
        }
        let most = self.calm / MILLI / (self.clients.tasks as u64);
        let pause = self.random.u64(0..=most) * MILLI;
        self.after(pause, SimulationEvent::Client);
    }

    /// A task of a shard is scheduled that is due in this many milliseconds.
    pub(super) fn create_task(&mut self, shard: ShardId, ahead: u64) {
        let clients = &mut self.clients;
        let routes = clients.routes.len();
        let mut tasks = clients.made..;
        let last = tasks.find(|task| task % routes == usize::from(shard.0));
        let last = last.expect("every shard has a route");
        let first = std::mem::replace(&mut clients.made, last + 1);
        for task in first..=last {
            self.clients.tasks += 1;
            let now = START + self.at / MILLI;
            let due = self.clients.due(now, ahead);
            let name = self.clients.name(task);
            let tracked = self.checks.tasks.entry(name).or_default();
            tracked.set_due(due, now);
            tracked.max_attempts = self.operators.max_attempts(None);
            self.schedule(task);
        }
    }

    /// A task is scheduled, and again a little later if there was no answer.
    pub(super) fn schedule(&mut self, task: usize) {
        let name = self.clients.name(task);
        let tracked = self.checks.tasks.get_mut(&name).expect("it is made");
        tracked.sent += 1;
        let request = TaskRequest::Schedule(Schedule {
            due: tracked.due(),
            id: Some(name.id.clone()),
            route: Some(name.route.clone()),
            compression: Compression::None,
            payload: vec![7; task % 100].into(),
            replace: false,
            headers: Headers::default(),
            terms: tracked.max_attempts.map(|most| {
                Box::new(Terms {
                    max_attempts: Some(most),
                    ..Terms::default()
                })
            }),
        });
        let token = self.token_for(&name);
        self.send(PRODUCER, request, token);
        let pause = self.random.u64(1..3_000) * MILLI;
        self.after(pause, SimulationEvent::Unanswered(task));
    }

    /// A client that got no answer to a schedule sends it again, or gives up.
    pub(super) fn unanswered(&mut self, task: usize) {
        let tracked = &self.checks.tasks[&self.clients.name(task)];
        let is_unknown = !tracked.is_scheduled && tracked.endings == 0;
        if is_unknown && !self.is_calm() && self.random.u8(0..5) > 0 {
            self.schedule(task);
        }
    }

    pub(super) fn cancel(&mut self, client: usize, task: usize) {
        let name = self.clients.name(task);
        let tracked = &self.checks.tasks[&name];
        if !tracked.is_scheduled || tracked.sent > 1 {
            // A schedule that is still on its way would make the task anew.
            return;
        }
        self.note_ending(&name);
        let TaskName { route, id } = name;
        self.send(client, TaskRequest::Cancel { route, id }, None);
    }

    /// A client sends a request.
    fn send(&mut self, client: usize, request: TaskRequest, token: Option<Arc<Grant>>) {
        if let Some((consumer, life)) = self.clients.clients[client].connection {
            let delay = self.random.u64(0..3 * MILLI);
            let request = ClientRequest {
                grant: token,
                ..client_request(request)
            };
            let event = requested(consumer, request);
            self.after(delay, SimulationEvent::Forwarder(life, event));
        }
    }
}
