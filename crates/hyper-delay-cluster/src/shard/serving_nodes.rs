//! The connections of all nodes, as the leader of a shard sees them.

use std::collections::BTreeMap;

use race_wheel::Tick;

use super::{Shard, peer::ServingPeer, unaccounted_copies::UnaccountedCopies};
use crate::{
    forward::wire::{ForwardedCopy, ToConnection, ToLeader, ToServing, UnsentDelivery},
    lease::Term,
    log::NodeName,
};
use hyper_delay_engine::{
    clock::Now,
    ledger::TaskRevision,
    scheduler::{
        ConsumerId, CopyId, Nack, RequestId, RequestNumber, SchedulerInput, SchedulerMessage,
        SentCopy,
    },
};
use hyper_delay_protocol::{DeliverySelector, Reply};
use hyper_delay_store::Store;

/// A link from a node, by a number that is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PeerId(pub(crate) u64);

const FULL: &str = "the journal of this shard is at its bound, because most nodes are behind: send it \
    again later, and look at `hyper-delay cluster status`";

/// No connection has this number.
const NO_CONSUMER: ConsumerId = 0;

/// The serving nodes that have a session with this leader, and their connections.
#[derive(Debug, Default)]
pub(super) struct ServingNodes {
    pub(super) peers: BTreeMap<PeerId, ServingPeer>,
    /// The connections, by the number that the scheduler knows.
    pub(super) consumers: BTreeMap<ConsumerId, ServingConnection>,
    /// The last number that the scheduler knows.
    last: ConsumerId,
    /// The number of the last copy that was sent.
    copies: u64,
    /// Nothing is delivered before this moment, unless all nodes are ready earlier.
    pub(super) hold_until: Option<Tick>,
    /// The nodes that can still write deliveries of a leadership of this node, by its epoch, and
    /// until when.
    pub(super) grants: BTreeMap<(PeerId, u64), Tick>,
    pub(super) unaccounted: UnaccountedCopies,
}

/// A connection that the scheduler knows. It is forgotten when it is not open and has no request
/// in flight: connections without routes only ask, and the last replies come after the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServingConnection {
    peer: PeerId,
    /// The number there.
    remote_id: ConsumerId,
    is_open: bool,
    /// Requests without an answer.
    requests: u32,
}

impl ServingNodes {
    /// Returns when something is to be done.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.hold_until
    }

    /// Returns the moment from which on no node writes a delivery of the last leadership.
    pub(super) fn last_grant_end(&self) -> Tick {
        self.grants.values().copied().max().unwrap_or(Tick::ZERO)
    }

    /// Returns the connection there. It is made known if it is not.
    fn connection(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        if let Some(consumer) = self.consumer_of(peer, remote_id) {
            return consumer;
        }
        self.last += 1;
        let consumer = self.last;
        let connection = ServingConnection {
            peer,
            remote_id,
            is_open: false,
            requests: 0,
        };
        self.consumers.insert(consumer, connection);
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.connections.insert(remote_id, consumer);
        }
        consumer
    }

    /// Returns the node of a connection.
    pub(super) fn node_of(&self, consumer: ConsumerId) -> Option<&NodeName> {
        let connection = self.consumers.get(&consumer)?;
        self.peers.get(&connection.peer).map(|peer| &peer.node)
    }

    pub(super) fn consumer_of(&self, peer: PeerId, remote_id: ConsumerId) -> Option<ConsumerId> {
        let peer = self.peers.get(&peer)?;
        peer.connections.get(&remote_id).copied()
    }

    /// The connection there sends a request.
    fn begin_request(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        let consumer = self.connection(peer, remote_id);
        if let Some(connection) = self.consumers.get_mut(&consumer) {
            connection.requests += 1;
        }
        consumer
    }

    /// A request of a connection is answered.
    fn end_request(&mut self, consumer: ConsumerId) {
        if let Some(connection) = self.consumers.get_mut(&consumer) {
            connection.requests = connection.requests.saturating_sub(1);
        }
        self.forget_if_done(consumer);
    }

    fn open(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        let consumer = self.connection(peer, remote_id);
        if let Some(connection) = self.consumers.get_mut(&consumer) {
            connection.is_open = true;
        }
        consumer
    }

    /// The connection there is closed. Its requests are still answered.
    pub(super) fn close(&mut self, peer: PeerId, remote_id: ConsumerId) -> Option<ConsumerId> {
        let peer = self.peers.get_mut(&peer)?;
        let consumer = peer.connections.remove(&remote_id)?;
        let connection = self.consumers.get_mut(&consumer)?;
        let was_open = std::mem::replace(&mut connection.is_open, false);
        self.forget_if_done(consumer);
        was_open.then_some(consumer)
    }

    fn forget_if_done(&mut self, consumer: ConsumerId) {
        let connection = self.consumers.get(&consumer);
        let Some(connection) = connection.filter(|it| !it.is_open && it.requests == 0) else {
            return;
        };
        if let Some(peer) = self.peers.get_mut(&connection.peer)
            && peer.connections.get(&connection.remote_id) == Some(&consumer)
        {
            peer.connections.remove(&connection.remote_id);
        }
        self.consumers.remove(&consumer);
    }

    /// Removes a node. Returns its open connections.
    pub(super) fn remove(&mut self, peer: PeerId) -> Vec<ConsumerId> {
        if self.peers.remove(&peer).is_none() {
            return Vec::new();
        }
        let of_peer = self.consumers.iter().filter(|(_, it)| it.peer == peer);
        let open = of_peer.filter(|(_, it)| it.is_open);
        let open = open.map(|(consumer, _)| *consumer).collect();
        self.consumers
            .retain(|_, connection| connection.peer != peer);
        open
    }
}

impl<S: Store> Shard<S> {
    /// Handles a message of a serving node.
    pub(super) fn handle_peer_message(
        &mut self,
        peer: PeerId,
        message: ToLeader,
        now: Now,
        term: Option<Term>,
    ) {
        match message {
            ToLeader::Begin {
                epoch,
                node,
                sent,
                last_copy,
            } => {
                self.begin_session((peer, node), (epoch, last_copy), sent, now, term);
            }
            ToLeader::Released { epoch }
                if self.fence().is_none_or(|fence| fence.epoch != epoch) =>
            {
                self.serving_nodes.grants.remove(&(peer, epoch));
            }
            message if self.serving_nodes.peers.contains_key(&peer) => {
                self.handle_session_message(peer, message, now, term);
            }
            _ => {}
        }
    }

    fn handle_session_message(
        &mut self,
        peer: PeerId,
        message: ToLeader,
        now: Now,
        term: Option<Term>,
    ) {
        let serving_nodes = &mut self.serving_nodes;
        let of = |remote_id| serving_nodes.consumer_of(peer, remote_id);
        let input = match message {
            ToLeader::Begin { .. } | ToLeader::Released { .. } => None,
            ToLeader::Ping { sent, last_copy } => {
                if let Some(peer) = serving_nodes.peers.get_mut(&peer) {
                    peer.confirm(last_copy);
                }
                let fence = self.fence();
                // Its answer would say that everything sent before was taken.
                let fence = fence.filter(|_| self.accepts_answers(now));
                let epoch = fence.map(|fence| fence.epoch);
                if let Some(epoch) = epoch
                    && let Some(grant) = self.grant((peer, epoch), sent, now, term)
                {
                    let grant = ToServing::Granted { epoch, grant };
                    self.effects.to_peers.push((peer, grant));
                }
                None
            }
            ToLeader::Ready => self.peer_is_ready(peer),
            ToLeader::Ending => {
                if let Some(peer) = serving_nodes.peers.get_mut(&peer) {
                    peer.is_ending = true;
                }
                None
            }
            ToLeader::Opened(remote_id) => {
                Some(SchedulerInput::Opened(serving_nodes.open(peer, remote_id)))
            }
            ToLeader::Bound(remote_id, route, mode) => {
                of(remote_id).map(|it| SchedulerInput::Registered(it, route, mode))
            }
            ToLeader::Adopted(remote_id, copies) => {
                let consumer = of(remote_id);
                self.account_for_copies(peer, &copies);
                consumer.map(|it| SchedulerInput::Adopted(it, copies))
            }
            ToLeader::Lent(remote_id, credit) => {
                of(remote_id).map(|it| SchedulerInput::Lent(it, credit))
            }
            ToLeader::Recalled(remote_id, credit) => {
                of(remote_id).map(|it| SchedulerInput::Recalled(it, credit))
            }
            ToLeader::Closing(remote_id) => of(remote_id).map(SchedulerInput::Closing),
            ToLeader::Closed(remote_id) => self.connection_closed(peer, remote_id, now),
            ToLeader::Request(remote_id, number, asked)
                if self.trimming.is_full() && asked.is_schedule() =>
            {
                let refused = ToConnection::Reply(number, Reply::Error(asked.refusal(FULL)));
                self.effects
                    .to_peers
                    .push((peer, ToServing::Connection(remote_id, refused)));
                None
            }
            ToLeader::Request(remote_id, number, asked) => {
                let consumer = serving_nodes.begin_request(peer, remote_id);
                match asked.into_input(RequestId { consumer, number }) {
                    Ok(input) => Some(input),
                    Err(query) => {
                        self.serving_nodes.end_request(consumer);
                        let applied = self.applied();
                        let leading = self.leading.as_ref();
                        let answer = leading
                            .map(|it| it.answer_query(query, applied))
                            .map(|it| ToConnection::QueryAnswer(number, it));
                        let outgoing =
                            answer.map(|it| (peer, ToServing::Connection(remote_id, it)));
                        self.effects.to_peers.extend(outgoing);
                        None
                    }
                }
            }
            ToLeader::Acked {
                consumer,
                revision,
                confirm,
            } => {
                let serving_nodes = &mut self.serving_nodes;
                let of = |remote_id| serving_nodes.consumer_of(peer, remote_id);
                let consumer = match confirm {
                    Some(_) => serving_nodes.begin_request(peer, consumer),
                    None => of(consumer).unwrap_or(NO_CONSUMER),
                };
                Some(SchedulerInput::Acked(consumer, Box::new(revision), confirm))
            }
            ToLeader::Nacked {
                consumer,
                named,
                seq,
                delay_ms,
                reason,
                failed,
            } => {
                let revision = full_revision(named, seq);
                of(consumer).zip(revision).map(|(consumer, revision)| {
                    let nack = Nack {
                        revision,
                        delay_ms,
                        reason,
                        failed,
                    };
                    SchedulerInput::Nacked(consumer, Box::new(nack))
                })
            }
            ToLeader::NotSent(remote_id, UnsentDelivery { seq, id, why }) => of(remote_id)
                .map(|consumer| SchedulerInput::NotSent(CopyId { consumer, seq, id }, why)),
        };
        if let Some(input) = input {
            self.accept_input(input, now);
        }
    }

    /// Passes messages of the scheduler to the nodes of the connections.
    pub(super) fn send_messages(
        &mut self,
        messages: Vec<(ConsumerId, SchedulerMessage)>,
        now: Now,
    ) {
        let after = self.applied();
        let Self {
            serving_nodes,
            effects,
            ..
        } = self;
        for (consumer, message) in messages {
            let Some(ServingConnection {
                peer, remote_id, ..
            }) = serving_nodes.consumers.get(&consumer).copied()
            else {
                // It has left. Tests also have consumers of no serving node.
                #[cfg(test)]
                effects.messages.push((consumer, message));
                continue;
            };
            let outgoing = match message {
                SchedulerMessage::Reply(number, reply) => reply_message(number, reply, now),
                SchedulerMessage::Notice(reply) => ToConnection::Notice(reply),
                SchedulerMessage::Credit(credit) => ToConnection::Credit(credit),
                // Nodes up to 0.3 do not know of it. Its answer changes nothing either way.
                SchedulerMessage::Lost(..) => continue,
                SchedulerMessage::Deliver(SentCopy {
                    seq,
                    route,
                    id,
                    attempt,
                    until,
                    write_by,
                    expires_at,
                }) => {
                    serving_nodes.copies += 1;
                    let number = serving_nodes.copies;
                    if let Some(peer) = serving_nodes.peers.get_mut(&peer) {
                        peer.push_sent(number, (consumer, seq, attempt));
                    }
                    ToConnection::Deliver(Box::new(ForwardedCopy {
                        number,
                        revision: TaskRevision {
                            route,
                            id,
                            seq,
                            attempt,
                        },
                        until,
                        write_by,
                        expires: expires_at.map(|at| expiry_tick(at, now)),
                        after,
                    }))
                }
            };
            if let ToConnection::Reply(..) | ToConnection::Touched(..) = outgoing {
                serving_nodes.end_request(consumer);
            }
            effects
                .to_peers
                .push((peer, ToServing::Connection(remote_id, outgoing)));
        }
    }
}

/// Returns the revision that a nack names, if it has the full name of a delivery.
fn full_revision(named: DeliverySelector, seq: u64) -> Option<TaskRevision> {
    Some(TaskRevision {
        route: named.route?,
        id: named.id,
        seq,
        attempt: named.attempt?,
    })
}

/// Converts a time in Unix milliseconds to the clock of this node, in nanoseconds.
fn expiry_tick(at: u64, now: Now) -> u64 {
    let left = at
        .saturating_sub(now.wall_millis())
        .saturating_mul(1_000_000);
    now.monotonic.value().saturating_add(left)
}

/// Returns the answer to a request, with the deadline after a touch as a time that does not depend on
/// the wall clock of the serving node.
fn reply_message(number: RequestNumber, reply: Reply, now: Now) -> ToConnection {
    match reply {
        Reply::Touched {
            deadline: Some(deadline),
            ..
        } => ToConnection::Touched(number, reply, now.tick_of(deadline)),
        reply => ToConnection::Reply(number, reply),
    }
}
