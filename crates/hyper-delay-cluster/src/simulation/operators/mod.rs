//! Operators pause routes and change many tasks at once. With them come tokens with limited pending
//! tasks, tasks that die, and the retention of dead letters.
//!
//! Each is drawn by itself, and from other generators than the rest: histories without them do not
//! depend on them.

mod bulk_moves;
mod pending_tasks;
mod requests;
mod sent_requests;
mod stored_jobs;
mod stored_shard;
mod stored_state;
mod tokens;

use std::{collections::BTreeMap, sync::Arc};

use bulk_moves::BulkMoves;
pub(super) use bulk_moves::SentBulkMoves;
pub(super) use stored_state::StoredState;

use super::{
    clients::SimulatedClients,
    events::{ProcessId, SimulationEvent},
    world::{MILLI, World},
};
use crate::{ShardId, forward::ForwarderEvent, shard_of};
use hyper_delay_engine::{
    front::{ConsumerMessage, FrontInput, ReplyTo},
    ledger::Actor,
    scheduler::{ConsumerId, OperatorRequest},
};
use hyper_delay_protocol::{AdminRequest, Code, Reply};
use tokens::LimitedTokens;

/// The connections of operators have higher numbers than those of clients.
const FIRST: ConsumerId = 1 << 32;

/// Routes of each shard that have no tasks. More routes are paused than may be.
const IDLE_ROUTES: usize = 7;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Operators {
    random: fastrand::Rng,
    /// Routes are paused and resumed.
    pause: bool,
    /// Bulk operations, kicks and removals of dead letters are requested.
    change: bool,
    /// Tasks are moved together.
    moves: BulkMoves,
    /// Many tasks die: they have few attempts, and consumers often give them back.
    deaths: bool,
    /// `dead_retention_seconds`.
    pub(super) dead_retention: Option<u64>,
    pub(super) tokens: LimitedTokens,
    idle: Vec<Arc<str>>,
    /// The connection of the operators, and the process that it is to.
    connection: Option<(ConsumerId, ProcessId)>,
    /// The number of the last connection.
    last: ConsumerId,
    /// The number of the last request, which is its tag.
    requests: u64,
    /// Requests without an answer, by their tags.
    unanswered: BTreeMap<Arc<str>, AdminRequest>,
    /// Bulk operations that operators know.
    jobs: Vec<u64>,
}

impl Operators {
    pub(super) fn new(seed: u64, shards: u16) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6f70_6572);
        let [pause, change, limits] = [(); 3].map(|()| random.u8(0..3) == 0);
        let [deaths, retains] = [(); 2].map(|()| random.bool());
        let retention = random.u64(1..4);
        let of = |shard: u16| {
            let names = (0..).map(|number| format!("idle-{number}").into());
            names
                .filter(move |name: &Arc<str>| shard_of(name, shards).0 == shard)
                .take(IDLE_ROUTES)
        };
        Self {
            pause,
            change,
            moves: BulkMoves::new(seed),
            deaths,
            dead_retention: retains.then_some(retention),
            tokens: LimitedTokens::new(limits, &mut random),
            random,
            idle: (0..shards).flat_map(of).collect(),
            connection: None,
            last: FIRST,
            requests: 0,
            unanswered: BTreeMap::new(),
            jobs: Vec::new(),
        }
    }

    /// Returns what the checks know of them. `None` if they do nothing.
    pub(super) fn stored(&self, shards: u16) -> Option<Box<StoredState>> {
        let is_needed = self.are_active() || self.dead_retention.is_some();
        is_needed.then(|| Box::new(StoredState::new(shards, self.dead_retention)))
    }

    /// Lets consumers give back more, if many tasks die.
    pub(super) fn raise_failures(&mut self, clients: &mut SimulatedClients) {
        if self.deaths {
            clients.lazy = self.random.u8(60..95);
        }
    }

    /// Returns how many attempts a task has that would have `attempts` otherwise.
    pub(super) fn max_attempts(&mut self, attempts: Option<u32>) -> Option<u32> {
        match self.deaths && self.random.u8(0..10) > 0 {
            true => self.random.choice([1, 1, 1, 2]),
            false => attempts,
        }
    }

    /// Whether they send requests.
    pub(super) fn are_active(&self) -> bool {
        self.pause
            || self.change
            || self.moves.are_made()
            || self.deaths
            || self.tokens.are_limited()
    }
}

impl World {
    /// An operator does something, and again a little later.
    pub(super) fn operate(&mut self) {
        let connection = self.operator_connects();
        if let Some(connection) = connection {
            for request in self.operator_requests() {
                self.operator_sends(connection, request);
            }
        }
        self.kill_tasks();
        self.exhaust_limits();
        let most = if self.is_calm() { 400 } else { 1_200 };
        let pause = self.operators.random.u64(20..most) * MILLI;
        self.after(pause, SimulationEvent::Operator);
    }

    /// Operators connect to a node that runs, and to another one now and then.
    fn operator_connects(&mut self) -> Option<(ConsumerId, ProcessId)> {
        let takes = |world: &Self, node: usize| {
            world.nodes[node].process.is_some() && !world.nodes[node].is_ending
        };
        if let Some((consumer, life)) = self.operators.connection {
            let is_there = self.process_id(life.node) == life;
            let stays = is_there && takes(self, life.node);
            if stays && self.operators.random.u8(0..12) > 0 {
                return self.operators.connection;
            }
            self.operators.connection = None;
            self.operators.unanswered.clear();
            if is_there {
                let inputs = [FrontInput::Closing(consumer), FrontInput::Closed(consumer)];
                for (pause, input) in (0..).zip(inputs) {
                    let event = SimulationEvent::Forwarder(life, ForwarderEvent::Input(input));
                    self.after(pause * MILLI, event);
                }
            }
        }
        let up = (0..self.nodes.len()).filter(|node| takes(self, *node));
        let up: Vec<usize> = up.collect();
        let node = self.operators.random.choice(up)?;
        let life = self.process_id(node);
        self.operators.last += 1;
        let consumer = self.operators.last;
        self.operators.connection = Some((consumer, life));
        let opened = ForwarderEvent::Input(FrontInput::Opened(consumer));
        self.after(0, SimulationEvent::Forwarder(life, opened));
        self.operators.connection
    }

    /// Many tasks are due at once now and then, and several of them die together.
    fn kill_tasks(&mut self) {
        let is_calm = self.is_calm();
        let Operators { random, deaths, .. } = &mut self.operators;
        if !*deaths || is_calm || random.u8(0..6) > 0 {
            return;
        }
        let shard = ShardId(random.u16(0..self.charter.shards));
        let ahead = random.u64(100..2_000);
        for _ in 0..random.u8(6..16) {
            self.create_task(shard, ahead);
        }
    }

    fn operator_sends(&mut self, (consumer, life): (ConsumerId, ProcessId), request: AdminRequest) {
        let Some(stored) = &mut self.checks.stored else {
            return;
        };
        stored.sent_requests.sent(&request);
        let operators = &mut self.operators;
        operators.requests += 1;
        let tag: Arc<str> = operators.requests.to_string().into();
        operators.unanswered.insert(tag.clone(), request.clone());
        let operated = OperatorRequest {
            request,
            actor: Actor::default(),
        };
        let to = ReplyTo {
            consumer,
            tag: Some(tag),
            weight: 1,
        };
        let event = ForwarderEvent::Input(FrontInput::Operated(to, Box::new(operated)));
        let delay = self.operators.random.u64(MILLI..3 * MILLI);
        self.after(delay, SimulationEvent::Forwarder(life, event));
    }

    /// A message reaches an operator. Returns whether the connection is one of an operator.
    pub(super) fn operator_received(
        &mut self,
        consumer: ConsumerId,
        message: &ConsumerMessage,
    ) -> bool {
        if consumer < FIRST {
            return false;
        }
        let operators = &mut self.operators;
        let is_open = operators.connection.is_some_and(|(it, _)| it == consumer);
        let ConsumerMessage::Reply { reply, tag, .. } = message else {
            return true;
        };
        let request = tag
            .as_ref()
            .and_then(|tag| operators.unanswered.remove(tag));
        let Some(request) = request.filter(|_| is_open) else {
            return true;
        };
        match reply {
            Reply::Error(refusal) if refusal.code == Code::Unavailable => {
                // It may have taken effect, or will: some operators ask again.
                let connection = operators.connection;
                if let Some(connection) = connection.filter(|_| operators.random.bool()) {
                    self.operator_sends(connection, request);
                }
            }
            reply => {
                if let Reply::Job(row) = reply {
                    operators.jobs.push(row.job);
                }
                if let Some(stored) = &mut self.checks.stored {
                    stored.sent_requests.answered(&request);
                }
            }
        }
        true
    }
}
