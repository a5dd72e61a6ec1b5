//! The forwarder: between the connections of a node and the leaders of the shards.
//!
//! A state machine without threads, sockets and clock, like the scheduler. A client is connected to
//! any node. What it asks for goes to the leader of the shard of its route, in the order in which
//! the client sent it ([`leader_session`]); the leader's scheduler sees the connection as one of its
//! consumers. The rules of a connection are those of a single server
//! ([`Front`](hyper_delay_engine::front)): it names requests, remembers deliveries and lends credit.
//! The forwarder has the sessions. It sends each answer to the present leader, with the full name of
//! the delivery, and tells a new leader what is in flight ([`deliveries`]).
//!
//! ```text
//! connections ──▶ Forwarder ──▶ leader of shard 0, here or on another node
//!             ◀──           ◀── leader of shard 1 ...
//! ```
//!
//! # When a session ends
//!
//! Then it is not known whether the requests in flight took effect: they are answered with
//! `unavailable`, before anything else is sent. Deliveries that are not written yet are void
//! ([`Authority`]), because another leader may give their tasks to another consumer.

mod by_shard;
mod deliveries;
mod delivery_answers;
mod introduce_connections;
mod leader_messages;
mod leader_queries;
mod leader_session;
mod lend_credit;
mod operator_requests;
mod query_leaders;
mod receive_copies;
mod requests;
mod served_connections;
mod session_lifecycle;
mod sessions;
mod task_contents;
mod unconfirmed;
pub(crate) mod wire;

pub(crate) use leader_queries::CallerId;

use std::{sync::Arc, time::Duration};

use self::{
    by_shard::ByShard,
    deliveries::LeaderCopy,
    leader_queries::{LeaderQueries, Query},
    leader_session::{LeaderSession, PendingRequest, ReplyAction},
    served_connections::ServedConnections,
    sessions::Sessions,
    task_contents::TaskContents,
    wire::{ToLeader, ToServing},
};
use super::{
    ShardId,
    log::{Leader, NodeName},
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    authority::Authority,
    clock::Now,
    front::{ConsumerMessage, Front, FrontInput, FrontSettings},
    metrics::Metrics,
    scheduler::{ConsumerId, NextCall},
};
use hyper_delay_protocol::{Refusal, Reply};

/// How a forwarder begins.
#[derive(Debug)]
pub(crate) struct ForwarderSetup {
    /// This node.
    node: NodeName,
    shards: u16,
    /// The lease of a node lasts this long.
    lease: Duration,
    front: FrontSettings,
    /// The longest line of a client.
    max_line_bytes: usize,
}

impl ForwarderSetup {
    /// Takes what a configuration says.
    pub(crate) fn new(node: NodeName, shards: u16, lease: Duration, config: &Config) -> Self {
        Self {
            node,
            shards,
            lease,
            front: FrontSettings::from(config),
            max_line_bytes: config.max_line_bytes,
        }
    }
}

/// An event for the forwarder.
#[derive(Debug)]
pub(crate) enum ForwarderEvent {
    /// On a connection, or what became of a delivery to it.
    Input(FrontInput),
    /// The leader of a shard, as far as this node knows.
    Leader(ShardId, Option<Leader>),
    /// The replica of this node contains this entry.
    Applied(ShardId, u64),
    /// Whether the replica of this node follows its shard. One that has stopped may be damaged.
    ReplicaFollows(ShardId, bool),
    /// There is a link to a node.
    Linked(NodeName),
    /// The link to a node is broken.
    Unlinked(NodeName),
    /// Whether another process has the name of this node, and its lease.
    Rival(bool),
    /// A message of a leader.
    LeaderMessage(NodeName, ShardId, ToServing),
    /// A caller asks whether a route has consumers.
    HasConsumers(CallerId, Arc<str>),
    /// A caller is about to read the replicas of this node, that of a route or all, and waits until
    /// they contain everything that was acknowledged before.
    Fresh(CallerId, Option<Arc<str>>),
}

/// The effects to carry out.
#[derive(Debug, Default)]
pub(crate) struct ForwarderEffects {
    /// For connections, in this order for each.
    pub(crate) messages: Vec<(ConsumerId, ConsumerMessage)>,
    /// For leaders, in this order for each shard and node. A message is lost if there is no link.
    pub(crate) to_leaders: Vec<(NodeName, ShardId, ToLeader)>,
    /// Sessions have ended: their deliveries that wait in an outbox are removed, and reported with
    /// [`FrontInput::Revoked`] before the next tick.
    pub(crate) revoked: Vec<Arc<Authority>>,
    /// These may read, or must not.
    pub(crate) fresh: Vec<(CallerId, Result<(), Refusal>)>,
    /// Answers to [`ForwarderEvent::HasConsumers`], or why there is none.
    pub(crate) has_consumers: Vec<(CallerId, Result<bool, Refusal>)>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Forwarder {
    /// This node.
    node: NodeName,
    shards: u16,
    /// The longest line of a client.
    max_line_bytes: usize,
    now: Now,
    sessions: Sessions,
    contents: ByShard<TaskContents>,
    /// The connections, as clients know them.
    front: Front<LeaderCopy>,
    /// The same, as the leaders know them.
    served: ServedConnections,
    queries: LeaderQueries,
    /// Another process has the name of this node, and its lease.
    has_rival: bool,
    /// This node ends, and closes its connections.
    is_ending: bool,
    metrics: Arc<Metrics>,
    effects: ForwarderEffects,
}

impl Forwarder {
    pub(crate) fn new(setup: ForwarderSetup, metrics: Arc<Metrics>, now: Now) -> Self {
        let ForwarderSetup {
            node,
            shards,
            lease,
            front,
            max_line_bytes,
        } = setup;
        Self {
            sessions: Sessions::new(node.clone(), shards, lease, now.monotonic),
            contents: ByShard::new(shards, |_| TaskContents::new(lease / 2)),
            front: Front::new(front, shards),
            node,
            shards,
            max_line_bytes,
            now,
            served: ServedConnections::default(),
            queries: LeaderQueries::new(shards, 2 * lease),
            has_rival: false,
            is_ending: false,
            metrics,
            effects: ForwarderEffects::default(),
        }
    }

    /// Handles an event.
    pub(crate) fn handle(&mut self, event: ForwarderEvent, now: Now) {
        self.now = now;
        match event {
            ForwarderEvent::Input(input) => self.handle_input(input),
            ForwarderEvent::Leader(shard, leader) => self.set_leader(shard, leader),
            ForwarderEvent::Applied(shard, seq) => self.replica_applied(shard, seq),
            ForwarderEvent::ReplicaFollows(shard, follows) => self.replica_follows(shard, follows),
            ForwarderEvent::Linked(node) => self.sessions.linked(node, now.monotonic),
            ForwarderEvent::Unlinked(node) => self.unlinked(&node),
            ForwarderEvent::Rival(has_rival) => self.has_rival = has_rival,
            ForwarderEvent::LeaderMessage(node, shard, message) => {
                self.handle_leader_message(&node, shard, message);
            }
            ForwarderEvent::HasConsumers(id, route) => {
                self.query(Query::has_consumers(id, route));
            }
            ForwarderEvent::Fresh(id, route) => self.query(Query::fresh(id, route)),
        }
    }

    /// Time has passed. Returns when the next call must come at the latest.
    pub(crate) fn tick(&mut self, now: Now) -> NextCall {
        self.now = now;
        self.advance_sessions();
        self.expire_deliveries();
        self.expire_queries();
        let contents = self.contents.iter();
        let next = contents
            .filter_map(|(_, contents)| contents.next_event())
            .chain(self.sessions.next_event())
            .chain(self.front.next())
            .chain(self.queries.next_expiry())
            .min();
        next.map_or(NextCall::Never, NextCall::At)
    }

    /// Returns the effects since the last call.
    pub(crate) fn take_effects(&mut self) -> ForwarderEffects {
        std::mem::take(&mut self.effects)
    }

    /// Returns whether a connection has no route and no delivery in flight.
    pub(crate) fn is_idle(&self, consumer: ConsumerId) -> bool {
        self.front.is_idle(consumer, self.now.monotonic)
    }

    /// Returns the number of open connections of this node.
    pub(crate) fn connections(&self) -> usize {
        self.front.len()
    }

    /// Returns whether the leaders of all shards can be reached, or could be within the last lease.
    ///
    /// # Errors
    ///
    /// The shards whose leaders cannot, or why none can.
    pub(crate) fn is_ready(&self) -> Result<(), String> {
        let without = self.sessions.unreachable(self.now.monotonic).into_iter();
        let without: Vec<_> = without.map(|shard| shard.0.to_string()).collect();
        match without.is_empty() {
            true => Ok(()),
            false => Err(self.rival_reason().unwrap_or_else(|| {
                format!(
                    "this node reaches no leader of shard {}: look at `hyper-delay cluster status`",
                    without.join(", ")
                )
            })),
        }
    }

    /// Returns why this node reaches no leader, if another process has its name.
    fn rival_reason(&self) -> Option<String> {
        let node = &self.node;
        self.has_rival.then(|| {
            format!("another process has the name of this node ({node}): stop one of them")
        })
    }

    /// Returns whether no request waits for an answer.
    pub(crate) fn is_settled(&self) -> bool {
        self.sessions.await_no_answer()
    }

    /// Takes what a new configuration says.
    fn configure(&mut self, config: &Config) {
        self.max_line_bytes = config.max_line_bytes;
        self.front.set_settings(FrontSettings::from(config));
    }

    fn session(&mut self, shard: ShardId) -> &mut LeaderSession {
        &mut self.sessions[shard]
    }

    fn send(&mut self, shard: ShardId, message: ToLeader) {
        if let Some(partner) = self.session(shard).partner() {
            let node = partner.node.clone();
            self.effects.to_leaders.push((node, shard, message));
        }
    }

    fn reply(&mut self, to: PendingRequest, reply: Reply) {
        if matches!(to.action, ReplyAction::Silent) {
            return;
        }
        self.effects.messages.push(to.reply_to.message(Some(reply)));
    }
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
