//! The forwarder: between the connections of a node and the leaders of the shards.
//!
//! A state machine without threads, sockets and clock, like the scheduler. A client is connected to
//! any node. What it asks for goes to the leader of the shard of its route, in the order in which
//! the client sent it ([`session`]); the leader's scheduler sees the connection as one of its
//! consumers. Deliveries come back, and the forwarder remembers them ([`deliveries`]): it sends
//! each answer to the present leader, with the full name of the delivery, and tells a new leader
//! what is in flight. The credit of a connection holds over all shards ([`lending`]).
//!
//! ```text
//! connections ──▶ Forwarder ──▶ leader of shard 0, here or on another node
//!             ◀──           ◀── leader of shard 1 ...
//! ```
//!
//! # When a session ends
//!
//! Then it is not known whether the requests under way took effect: they are answered with
//! `unavailable`, before anything else is sent. Deliveries that are not written yet are void
//! ([`Authority`]), because another leader may give their tasks to another consumer.

mod answers;
mod connection;
mod contents;
mod deliveries;
mod lending;
mod loans;
mod looks;
mod operate;
mod requests;
mod session;
mod sessions;
mod told;
mod untold;
pub(crate) mod wire;
mod wishes;

pub(crate) use looks::AskedId;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use self::{
    connection::Connection,
    looks::Looks,
    session::{Pending, Session},
    wire::{ToLeader, ToServing},
};
use super::{
    ShardId,
    log::{Leader, NodeName},
    shard_of,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    authority::Authority,
    clock::{Now, nanos},
    metrics::Metrics,
    scheduler::{ConsumerId, Input, Message, Next},
};
use hyper_delay_protocol::{Code, Refusal, Reply};

/// What does not change while a node runs.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// This node.
    pub(crate) node: NodeName,
    pub(crate) shards: u16,
    /// The lease of a node lasts this long.
    pub(crate) lease: Duration,
    /// The credit of a connection that does not say one.
    pub(crate) credit: u16,
    /// The most routes of a connection, and of all connections of this node.
    pub(crate) max_routes_per_connection: usize,
    pub(crate) max_routes: usize,
    /// The longest delay of a nack, in milliseconds.
    pub(crate) max_delay_millis: u64,
    /// The longest line of a client.
    pub(crate) max_line_bytes: usize,
}

impl Setup {
    /// Takes what a configuration says.
    pub(crate) fn new(node: NodeName, shards: u16, lease: Duration, config: &Config) -> Self {
        let mut setup = Self {
            node,
            shards,
            lease,
            credit: 0,
            max_routes_per_connection: 0,
            max_routes: 0,
            max_delay_millis: 0,
            max_line_bytes: 0,
        };
        setup.configure(config);
        setup
    }

    /// Takes what a new configuration says.
    fn configure(&mut self, config: &Config) {
        self.credit = config.credit;
        self.max_routes_per_connection = config.max_routes_per_connection;
        self.max_routes = config.max_routes;
        self.max_delay_millis = config.max_delay_days.saturating_mul(86_400_000);
        self.max_line_bytes = config.max_line_bytes;
    }

    /// The pause before a leader is asked again.
    fn pause(&self) -> Duration {
        self.lease / 64
    }

    /// How often a leader is asked how long its leadership holds.
    fn ping(&self) -> Duration {
        self.lease / 8
    }
}

/// What has happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// On a connection, or what became of a delivery to it.
    Input(Input),
    /// Who leads a shard, as far as this node knows.
    Leader(ShardId, Option<Leader>),
    /// The replica of this node contains this entry.
    Applied(ShardId, u64),
    /// Whether the replica of this node follows its shard. One that has stopped may be damaged.
    Follows(ShardId, bool),
    /// There is a link to a node.
    Linked(NodeName),
    /// The link to a node is broken.
    Unlinked(NodeName),
    /// Whether another process has the name of this node, and its lease.
    Rival(bool),
    /// A node says something of a shard.
    Told(NodeName, ShardId, ToServing),
    /// Somebody asks whether a route has consumers.
    HasConsumers(AskedId, Arc<str>),
    /// Somebody is about to read the replicas of this node, that of a route or all, and waits until
    /// they contain everything that was acknowledged before.
    Fresh(AskedId, Option<Arc<str>>),
}

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// For connections, in this order for each.
    pub(crate) messages: Vec<(ConsumerId, Message)>,
    /// For leaders, in this order for each shard and node. A message is lost if there is no link.
    pub(crate) to_leaders: Vec<(NodeName, ShardId, ToLeader)>,
    /// Sessions have ended: their deliveries that wait in an outbox are removed, and reported with
    /// [`Input::Void`] before the next tick.
    pub(crate) revoked: Vec<Arc<Authority>>,
    /// These may read, or must not.
    pub(crate) fresh: Vec<(AskedId, Result<(), Refusal>)>,
    /// Answers to [`Event::HasConsumers`], or why there is none.
    pub(crate) has_consumers: Vec<(AskedId, Result<bool, Refusal>)>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Forwarder {
    setup: Setup,
    now: Now,
    /// By shard.
    sessions: Vec<Session>,
    /// The nodes to which there is a link; this one is always among them.
    linked: BTreeSet<NodeName>,
    connections: BTreeMap<ConsumerId, Connection>,
    /// Registrations of all connections.
    routes: usize,
    looks: Looks,
    /// Another process has the name of this node, and its lease.
    has_rival: bool,
    /// This node ends, and closes its connections.
    is_ending: bool,
    metrics: Arc<Metrics>,
    effects: Effects,
}

impl Forwarder {
    pub(crate) fn new(setup: Setup, metrics: Arc<Metrics>, now: Now) -> Self {
        let sessions = (0..setup.shards).map(|_| Session::new(now.monotonic));
        Self {
            sessions: sessions.collect(),
            linked: BTreeSet::from([setup.node.clone()]),
            setup,
            now,
            connections: BTreeMap::new(),
            routes: 0,
            looks: Looks::default(),
            has_rival: false,
            is_ending: false,
            metrics,
            effects: Effects::default(),
        }
    }

    /// Something has happened.
    pub(crate) fn handle(&mut self, event: Event, now: Now) {
        self.now = now;
        match event {
            Event::Input(input) => self.input(input),
            Event::Leader(shard, leader) => self.leader_is(shard, leader),
            Event::Applied(shard, seq) => self.applied(shard, seq),
            Event::Follows(shard, follows) => self.follows(shard, follows),
            Event::Linked(node) => self.linked(node),
            Event::Unlinked(node) => self.unlinked(&node),
            Event::Rival(has_rival) => self.has_rival = has_rival,
            Event::Told(node, shard, told) => self.told(&node, shard, told),
            Event::HasConsumers(id, route) => self.has_consumers(id, route),
            Event::Fresh(id, route) => self.fresh(id, route.as_deref()),
        }
    }

    /// Time has passed. Returns when the next call must come at the latest.
    pub(crate) fn tick(&mut self, now: Now) -> Next {
        self.now = now;
        self.advance_sessions();
        self.expire_deliveries();
        self.expire_looks();
        let sessions = self.sessions.iter().filter_map(|it| self.next_of(it));
        let deliveries = self.connections.values();
        let deliveries = deliveries.filter_map(|connection| connection.deliveries.next());
        let next = sessions.chain(deliveries).chain(self.next_look()).min();
        next.map_or(Next::Never, Next::At)
    }

    /// Returns what is to be done, since the last call.
    pub(crate) fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Returns whether a connection has no route and no delivery in flight.
    pub(crate) fn is_idle(&self, consumer: ConsumerId) -> bool {
        let connection = self.connections.get(&consumer);
        connection.is_none_or(|connection| connection.is_idle(self.now.monotonic))
    }

    /// Returns the number of open connections of this node.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Returns whether the leaders of all shards can be reached, or could be within the last lease.
    ///
    /// # Errors
    ///
    /// The shards whose leaders cannot, or why none can.
    pub(crate) fn is_ready(&self) -> Result<(), String> {
        let now = self.now.monotonic;
        let lease = nanos(self.setup.lease);
        let sessions = self.sessions.iter().enumerate();
        let without =
            sessions.filter(|(_, session)| session.up().is_none() && session.ended + lease <= now);
        let without: Vec<_> = without.map(|(shard, _)| shard.to_string()).collect();
        match without.is_empty() {
            true => Ok(()),
            false => Err(self.rival().unwrap_or_else(|| {
                format!(
                    "this node reaches no leader of shard {}: look at `hyper-delay cluster status`",
                    without.join(", ")
                )
            })),
        }
    }

    /// Returns why this node reaches no leader, if another process has its name.
    fn rival(&self) -> Option<String> {
        let node = &self.setup.node;
        self.has_rival.then(|| {
            format!("another process has the name of this node ({node}): stop one of them")
        })
    }

    /// Returns whether no request waits for an answer.
    pub(crate) fn is_settled(&self) -> bool {
        let mut sessions = self.sessions.iter();
        sessions.all(|session| session.awaits_no_answer())
    }

    fn shard_of(&self, route: &str) -> ShardId {
        shard_of(route, self.setup.shards)
    }

    fn session(&mut self, shard: ShardId) -> &mut Session {
        &mut self.sessions[usize::from(shard.0)]
    }

    fn send(&mut self, shard: ShardId, message: ToLeader) {
        if let Some(partner) = self.session(shard).partner() {
            let node = partner.node.clone();
            self.effects.to_leaders.push((node, shard, message));
        }
    }

    fn reply(&mut self, to: Pending, reply: Reply) {
        let message = Message::Reply {
            reply,
            tag: to.tag,
            weight: to.weight,
        };
        self.effects.messages.push((to.consumer, message));
    }

    /// Answers a request of which it is not known whether it took effect.
    fn unavailable(&mut self, to: Pending, message: &str) {
        let refusal = Refusal {
            id: to.id.clone(),
            route: to.route.clone(),
            ..Refusal::new(Code::Unavailable, message)
        };
        self.reply(to, Reply::Error(refusal));
    }
}

#[cfg(test)]
mod tests;
