//! The clients of the cluster. Each is connected to some node, and to another one when that fails.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Faults,
    links::SLOWEST,
    node::CREDIT,
    world::{Happening, Life, MILLI, START, World},
};
use crate::{
    cluster::{forward::Event, shard_of},
    protocol::{Compression, Headers, Line, Mode, Named, Reply, Request, Schedule},
    record,
    scheduler::{Ask, ConsumerId, Input, Message},
    store::{ReadStore as _, Space, fake::Fake},
};

/// The first client schedules and cancels; the others take deliveries.
const PRODUCER: usize = 0;

/// What the clients do.
#[derive(Debug)]
pub(super) struct Clients {
    /// The number of tasks that are scheduled.
    tasks: usize,
    made: usize,
    /// A route of each shard.
    routes: Vec<Arc<str>>,
    /// The percentage of deliveries that are given back or not answered.
    lazy: u8,
    clients: Vec<Client>,
    /// The number of the last connection.
    last: ConsumerId,
}

/// A client.
#[derive(Debug, Default)]
struct Client {
    /// Its connection and the process that it is to.
    connection: Option<(ConsumerId, Life)>,
    credit: Option<u16>,
    /// What it has and has not answered.
    in_flight: BTreeMap<Arc<str>, InFlight>,
}

/// A delivery that a client has not answered.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    seq: u64,
    /// When its leader has sent it, in true nanoseconds.
    sent: u64,
    /// The end of its time on the clock of the client's node.
    until: u64,
}

impl Clients {
    pub(super) fn new(random: &mut fastrand::Rng, shards: u16) -> Self {
        let of = |shard: u16| {
            let mut names = (0..).map(|number| format!("route-{number}"));
            let name = names.find(|name| shard_of(name, shards).0 == shard);
            name.expect("there is one").into()
        };
        let mut clients = vec![Client::default()];
        for _ in 0..random.usize(1..=3) {
            let credit = *random.choice(&[1, 2, 5, 30]).expect("there are some");
            clients.push(Client {
                credit: random.bool().then_some(credit),
                ..Client::default()
            });
        }
        Self {
            tasks: random.usize(5..120),
            made: 0,
            routes: (0..shards).map(of).collect(),
            lazy: random.u8(0..40),
            clients,
            last: 0,
        }
    }

    fn route(&self, task: usize) -> Arc<str> {
        self.routes[task % self.routes.len()].clone()
    }

    fn of(&self, consumer: ConsumerId) -> Option<usize> {
        let mut clients = self.clients.iter();
        clients.position(|client| client.connection.is_some_and(|(it, _)| it == consumer))
    }
}

/// Returns whether a replica has the content of a task.
pub(super) fn has_content(disk: &Fake, seq: u64) -> bool {
    let key = record::key::task(seq);
    disk.get(Space::Tasks, &key).expect("it is whole").is_some()
}

fn asked(consumer: ConsumerId, request: Request) -> Event {
    let line = Line {
        tag: None,
        token: None,
        request,
    };
    let ask = Ask {
        line,
        weight: 1,
        grant: None,
    };
    Event::Input(Input::Asked(consumer, vec![ask]))
}

impl World {
    /// Clients without a connection connect to a node that runs; now and then one leaves its node.
    pub(super) fn clients_connect(&mut self) {
        for client in 0..self.clients.clients.len() {
            if let Some((consumer, life)) = self.clients.clients[client].connection {
                let is_there = self.life(life.node) == life;
                let goes = !self.is_calm() && self.random.u8(0..100) == 0;
                if is_there && !goes {
                    continue;
                }
                self.clients.clients[client].connection = None;
                self.clients.clients[client].in_flight.clear();
                if is_there {
                    let closing = Event::Input(Input::Closing(consumer));
                    self.after(0, Happening::Forwarder(life, closing));
                    let closed = Event::Input(Input::Closed(consumer));
                    let pause = self.random.u64(1..5 * MILLI);
                    self.after(pause, Happening::Forwarder(life, closed));
                }
            }
            let nodes = 0..self.nodes.len();
            let up = nodes.filter(|node| self.nodes[*node].process.is_some());
            let up: Vec<usize> = up.collect();
            let Some(node) = self.random.choice(up) else {
                continue;
            };
            let life = self.life(node);
            self.clients.last += 1;
            let consumer = self.clients.last;
            self.clients.clients[client].connection = Some((consumer, life));
            let opened = Event::Input(Input::Opened(consumer));
            self.after(0, Happening::Forwarder(life, opened));
            if client != PRODUCER {
                for route in 0..self.clients.routes.len() {
                    self.registers(client, consumer, route);
                }
            }
        }
        let pause = self.random.u64(10..100) * MILLI;
        self.after(pause, Happening::Clients);
    }

    fn registers(&mut self, client: usize, consumer: ConsumerId, route: usize) {
        let clients = &self.clients;
        let Some((connected, life)) = clients.clients[client].connection else {
            return;
        };
        if connected != consumer {
            return;
        }
        let register = Request::Register {
            route: clients.routes[route].clone(),
            credit: clients.clients[client].credit,
            mode: Mode::Shared,
            accept: None,
        };
        self.after(0, Happening::Forwarder(life, asked(consumer, register)));
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
            self.cancels(task);
        } else {
            let task = clients.made;
            clients.made += 1;
            let ahead = self.random.u64(0..4_000);
            let id: Arc<str> = format!("task-{task}").into();
            let known = self.facts.tasks.entry(id).or_default();
            known.fire_at = START + self.at / MILLI + ahead;
            self.schedules(task);
        }
        let most = self.calm / MILLI / (self.clients.tasks as u64);
        let pause = self.random.u64(0..=most) * MILLI;
        self.after(pause, Happening::Client);
    }

    /// A task is scheduled, and again a little later if there was no answer.
    pub(super) fn schedules(&mut self, task: usize) {
        let id: Arc<str> = format!("task-{task}").into();
        let known = self.facts.tasks.get_mut(&id).expect("it is made");
        known.sent += 1;
        let request = Request::Schedule(Schedule {
            fire_at: known.fire_at,
            id: Some(id),
            route: Some(self.clients.route(task)),
            compression: Compression::None,
            payload: vec![7; task % 100].into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        });
        self.asks(request);
        let pause = self.random.u64(1..3_000) * MILLI;
        self.after(pause, Happening::Unanswered(task));
    }

    /// A client that got no answer to a schedule sends it again, or gives up.
    pub(super) fn unanswered(&mut self, task: usize) {
        let known = &self.facts.tasks[&*format!("task-{task}")];
        let is_unknown = !known.is_scheduled && !known.may_have_ended;
        if is_unknown && !self.is_calm() && self.random.u8(0..5) > 0 {
            self.schedules(task);
        }
    }

    fn cancels(&mut self, task: usize) {
        let id: Arc<str> = format!("task-{task}").into();
        let known = &self.facts.tasks[&id];
        if !known.is_scheduled || known.sent > 1 {
            // A schedule that is still on its way would make the task anew.
            return;
        }
        self.may_have_ended(&id);
        let route = self.clients.route(task);
        self.asks(Request::Cancel { route, id });
    }

    /// The producer sends a request.
    fn asks(&mut self, request: Request) {
        if let Some((consumer, life)) = self.clients.clients[PRODUCER].connection {
            let delay = self.random.u64(0..3 * MILLI);
            let event = asked(consumer, request);
            self.after(delay, Happening::Forwarder(life, event));
        }
    }

    /// A message reaches a client.
    pub(super) fn received(&mut self, life: Life, consumer: ConsumerId, message: Message) {
        let at = self.at;
        let Some(client) = self.clients.of(consumer) else {
            return;
        };
        match message {
            Message::Reply { reply, .. } => {
                let (id, ends) = match reply {
                    Reply::Scheduled { id, .. } => {
                        let known = self.facts.tasks.get_mut(&id);
                        known.expect("it was scheduled").is_scheduled = true;
                        return;
                    }
                    Reply::Acked { id, removed, .. } => (id, removed),
                    // A copy that is in flight can still arrive.
                    Reply::Cancelled {
                        id,
                        found,
                        in_flight,
                        ..
                    } => (id, found && !in_flight),
                    Reply::Error(refusal) if client != PRODUCER && refusal.id.is_none() => {
                        // It was a register: it is sent again.
                        if let Some(route) = refusal.route {
                            let mut routes = self.clients.routes.iter();
                            let route = routes.position(|it| *it == route);
                            self.registers(client, consumer, route.expect("it is one of them"));
                        }
                        return;
                    }
                    _ => return,
                };
                let known = self.facts.tasks.get_mut(&id).expect("it was scheduled");
                if ends {
                    known.ended.get_or_insert(at);
                }
            }
            Message::Deliver {
                seq,
                route,
                id,
                attempt,
                until,
                ..
            } => {
                let wall = START + at / MILLI + 200;
                let sent = match self.facts.delivered((consumer, &id), (seq, attempt), wall) {
                    Ok(sent) => sent,
                    Err(broken) => return self.check(Err(broken)),
                };
                self.is_delivered_once(&id, seq, sent);
                let now = self.nodes[life.node].drift.now(at).monotonic.value();
                let credit = self.clients.clients[client].credit.unwrap_or(CREDIT);
                let in_flight = &mut self.clients.clients[client].in_flight;
                // The clock of the leader can be fast.
                in_flight.retain(|_, it| it.until > now + 1_000 * MILLI);
                let until = until.value();
                let before = in_flight.insert(id.clone(), InFlight { seq, sent, until });
                // A copy of a task that ended otherwise takes no credit.
                let tasks = &self.facts.tasks;
                let counted = in_flight.keys().filter(|id| !tasks[*id].may_have_ended);
                let many = counted.count() > usize::from(credit);
                if before.is_some() {
                    self.check(Err(format!("{id} is delivered twice at a time")));
                }
                if many {
                    self.check(Err(format!("more than {credit} are in flight")));
                }
                let named = Named {
                    id,
                    route: Some(route).filter(|_| self.random.bool()),
                    attempt: Some(attempt).filter(|_| self.random.bool()),
                };
                self.works(life, client, consumer, named);
            }
            Message::Quiet(_) | Message::Credit(_) => {}
        }
    }

    /// Without faults, no client is sent what another one has and can still answer.
    fn is_delivered_once(&mut self, id: &Arc<str>, seq: u64, sent: u64) {
        if self.faults != Faults::Harmless {
            return;
        }
        // All clocks can be fast by 60,000 ppm. A serving node counts the time to answer from
        // before the delivery was sent.
        let time = self.options.ack_timeout * MILLI / 107 * 100 - 2 * SLOWEST;
        let clients = self.clients.clients.iter();
        let copies = clients.filter_map(|client| client.in_flight.get(id));
        let is_early = |it: &&InFlight| it.seq == seq && sent < it.sent + time;
        if let Some(copy) = copies.filter(is_early).max_by_key(|it| it.sent) {
            let after = (sent - copy.sent) / MILLI;
            self.check(Err(format!(
                "{id} is sent again {after} ms after it was sent"
            )));
        }
    }

    /// A consumer does the work of a delivery and answers.
    fn works(&mut self, life: Life, client: usize, consumer: ConsumerId, delivery: Named) {
        let is_lazy = !self.is_calm() && self.random.u8(0..100) < self.clients.lazy;
        let id = delivery.id.clone();
        let request = match (is_lazy, self.random.bool()) {
            (true, true) => return,
            (true, false) => Request::Nack {
                delivery,
                delay_ms: None,
                reason: None,
            },
            (false, _) => Request::Ack {
                delivery,
                confirm: self.random.u8(0..4) > 0,
            },
        };
        let most = if self.random.bool() { 10 } else { 1_000 };
        let time = self.random.u64(MILLI..most * MILLI);
        self.after(
            time,
            Happening::Answers(life, client, consumer, id, request),
        );
    }

    /// A consumer answers a delivery.
    pub(super) fn answers(
        &mut self,
        life: Life,
        (client, consumer): (usize, ConsumerId),
        id: &Arc<str>,
        answer: Request,
    ) {
        if self.clients.of(consumer) == Some(client) {
            self.clients.clients[client].in_flight.remove(id);
            if let Request::Ack { .. } = answer {
                self.may_have_ended(id);
            }
            self.forwarder(life, Some(asked(consumer, answer)));
        }
    }

    fn may_have_ended(&mut self, id: &Arc<str>) {
        let known = self.facts.tasks.get_mut(id);
        known.expect("it was scheduled").may_have_ended = true;
    }
}
