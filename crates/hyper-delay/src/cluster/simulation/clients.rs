//! The clients of the cluster. Each knows which node leads a shard, and sends what it has to that one.

use std::sync::Arc;

use super::world::{Happening, Life, MILLI, START, World};
use crate::{
    cluster::ShardId,
    protocol::{Compression, Headers, Line, Mode, Named, Reply, Request, Schedule},
    record,
    scheduler::{Ask, ConsumerId, CopyOf, Input, Message},
    store::{ReadStore as _, Space},
};

/// The connection that schedules and cancels.
const PRODUCER: ConsumerId = 9;

/// The connections that take deliveries.
const CONSUMERS: [ConsumerId; 2] = [1, 2];

/// What the clients do.
#[derive(Debug)]
pub(super) struct Clients {
    /// The number of tasks that are scheduled.
    tasks: usize,
    made: usize,
    shards: u16,
    /// Of a hundred deliveries, as many are not answered, or given back.
    lazy: u8,
}

impl Clients {
    pub(super) fn new(random: &mut fastrand::Rng, shards: u16) -> Self {
        Self {
            tasks: random.usize(5..120),
            made: 0,
            shards,
            lazy: random.u8(0..40),
        }
    }
}

/// Returns the shard of a task, by its number.
fn shard_of(task: usize, shards: u16) -> ShardId {
    ShardId(u16::try_from(task % usize::from(shards)).expect("it is less than the shards"))
}

fn route(shard: ShardId) -> Arc<str> {
    format!("route-{}", shard.0).into()
}

fn asked(consumer: ConsumerId, request: Request) -> Input {
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
    Input::Asked(consumer, vec![ask])
}

impl World {
    /// A process leads a shard: the clients connect to it.
    pub(super) fn clients_connect(&mut self, life: Life, shard: ShardId) {
        for consumer in CONSUMERS.into_iter().chain([PRODUCER]) {
            self.after(0, Happening::Input(life, shard, Input::Opened(consumer)));
        }
        for consumer in CONSUMERS {
            let register = Request::Register {
                route: route(shard),
                credit: Some(5),
                mode: Mode::Shared,
                accept: None,
            };
            self.after(0, Happening::Input(life, shard, asked(consumer, register)));
        }
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
        let shard = shard_of(task, self.clients.shards);
        let id: Arc<str> = format!("task-{task}").into();
        let known = self.facts.tasks.get_mut(&id).expect("it is made");
        known.sent += 1;
        let request = Request::Schedule(Schedule {
            fire_at: known.fire_at,
            id: Some(id),
            route: Some(route(shard)),
            compression: Compression::None,
            payload: vec![7; task % 100].into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        });
        self.asks(shard, PRODUCER, request);
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
        let shard = shard_of(task, self.clients.shards);
        let id: Arc<str> = format!("task-{task}").into();
        let known = &self.facts.tasks[&id];
        if !known.is_scheduled || known.sent > 1 {
            // A schedule that is still on its way would make the task anew.
            return;
        }
        self.may_have_ended(&id);
        let route = route(shard);
        let request = Request::Cancel { route, id };
        self.asks(shard, PRODUCER, request);
    }

    fn asks(&mut self, shard: ShardId, consumer: ConsumerId, request: Request) {
        let leaders = self.leaders(shard);
        if let Some(life) = self.random.choice(leaders) {
            let delay = self.random.u64(0..3 * MILLI);
            let input = asked(consumer, request);
            self.after(delay, Happening::Input(life, shard, input));
        }
    }

    /// A message reaches a client.
    pub(super) fn received(
        &mut self,
        life: Life,
        shard: ShardId,
        consumer: ConsumerId,
        message: Message,
    ) {
        let at = self.at;
        match message {
            Message::Reply { reply, .. } => {
                let (id, ends) = match reply {
                    Reply::Scheduled { id, .. } => (id, false),
                    Reply::Acked { id, removed, .. } => (id, removed),
                    Reply::Cancelled { id, found, .. } => (id, found),
                    _ => return,
                };
                let known = self.facts.tasks.get_mut(&id).expect("it was scheduled");
                if ends {
                    known.ended.get_or_insert(at);
                } else if matches!(consumer, PRODUCER) {
                    known.is_scheduled = true;
                }
            }
            Message::Deliver {
                seq,
                route,
                id,
                attempt,
                ..
            } => {
                let disk = &self.nodes[life.node].disks[usize::from(shard.0)];
                let key = record::key::task(seq);
                if disk.get(Space::Tasks, &key).expect("it is whole").is_none() {
                    let copy = CopyOf { consumer, seq, id };
                    let input = Input::Unsent(copy);
                    return self.after(0, Happening::Input(life, shard, input));
                }
                let now = self.nodes[life.node].drift.now(at);
                let delivered = self.facts.delivered(&id, now.wall_millis());
                self.check(delivered);
                let named = Named {
                    id,
                    route: Some(route),
                    attempt: Some(attempt),
                };
                self.works(life, shard, consumer, named);
            }
            Message::Quiet(_) => {}
        }
    }

    /// A consumer does the work of a delivery and answers.
    fn works(&mut self, life: Life, shard: ShardId, consumer: ConsumerId, delivery: Named) {
        let is_lazy = !self.is_calm() && self.random.u8(0..100) < self.clients.lazy;
        let request = match (is_lazy, self.random.bool()) {
            (true, true) => return,
            (true, false) => Request::Nack {
                delivery,
                delay_ms: None,
                reason: None,
            },
            (false, _) => {
                self.may_have_ended(&delivery.id);
                Request::Ack {
                    delivery,
                    confirm: true,
                }
            }
        };
        let most = if self.random.bool() { 10 } else { 1_000 };
        let time = self.random.u64(MILLI..most * MILLI);
        let input = asked(consumer, request);
        self.after(time, Happening::Input(life, shard, input));
    }

    fn may_have_ended(&mut self, id: &Arc<str>) {
        let known = self.facts.tasks.get_mut(id);
        known.expect("it was scheduled").may_have_ended = true;
    }
}
