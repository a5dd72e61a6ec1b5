//! The connections of all nodes, as the leader of a shard sees them.

use std::collections::BTreeMap;

use race_wheel::Tick;

use super::{Shard, asked::reply_to, away::Away, peer::Peer};
use crate::{
    forward::wire::{Copy, NotSent, Number, ToLeader, ToServing, Told, Why},
    lease::Term,
    log::NodeName,
};
use hyper_delay_engine::{
    clock::Now,
    ledger::Subject,
    scheduler::{Acked, ConsumerId, CopyOf, Input, Message, Nacked},
};
use hyper_delay_protocol::Reply;
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
pub(super) struct Audience {
    pub(super) peers: BTreeMap<PeerId, Peer>,
    /// The connections, by the number that the scheduler knows.
    pub(super) consumers: BTreeMap<ConsumerId, Known>,
    /// The last number that the scheduler knows.
    last: ConsumerId,
    /// The number of the last copy that was sent.
    copies: u64,
    /// Nothing is delivered before this moment, unless all nodes are ready earlier.
    pub(super) holding: Option<Tick>,
    /// The nodes that can still write deliveries of a leadership of this node, by its epoch, and
    /// until when.
    pub(super) granted: BTreeMap<(PeerId, u64), Tick>,
    pub(super) away: Away,
}

/// A connection that the scheduler knows. It is forgotten when it is not open and has no request
/// under way: connections without routes only ask, and the last replies come after the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    peer: PeerId,
    /// The number there.
    there: ConsumerId,
    is_open: bool,
    /// Requests without an answer.
    asked: u32,
}

impl Audience {
    /// Returns when something is to be done.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.holding
    }

    /// Returns the moment from which on no node writes a delivery of the last leadership.
    pub(super) fn released(&self) -> Tick {
        self.granted.values().copied().max().unwrap_or(Tick::ZERO)
    }

    /// Returns the connection there. It is made known if it is not.
    fn known(&mut self, peer: PeerId, there: ConsumerId) -> ConsumerId {
        if let Some(consumer) = self.of(peer, there) {
            return consumer;
        }
        self.last += 1;
        let consumer = self.last;
        let known = Known {
            peer,
            there,
            is_open: false,
            asked: 0,
        };
        self.consumers.insert(consumer, known);
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.connections.insert(there, consumer);
        }
        consumer
    }

    /// Returns the node of a connection.
    pub(super) fn node_of(&self, consumer: ConsumerId) -> Option<&NodeName> {
        let known = self.consumers.get(&consumer)?;
        self.peers.get(&known.peer).map(|peer| &peer.node)
    }

    pub(super) fn of(&self, peer: PeerId, there: ConsumerId) -> Option<ConsumerId> {
        let peer = self.peers.get(&peer)?;
        peer.connections.get(&there).copied()
    }

    /// The connection there sends a request.
    fn asking(&mut self, peer: PeerId, there: ConsumerId) -> ConsumerId {
        let consumer = self.known(peer, there);
        if let Some(known) = self.consumers.get_mut(&consumer) {
            known.asked += 1;
        }
        consumer
    }

    /// A request of a connection is answered.
    fn answered(&mut self, consumer: ConsumerId) {
        if let Some(known) = self.consumers.get_mut(&consumer) {
            known.asked = known.asked.saturating_sub(1);
        }
        self.forget_if_done(consumer);
    }

    fn open(&mut self, peer: PeerId, there: ConsumerId) -> ConsumerId {
        let consumer = self.known(peer, there);
        if let Some(known) = self.consumers.get_mut(&consumer) {
            known.is_open = true;
        }
        consumer
    }

    /// The connection there is closed. Its requests are still answered.
    pub(super) fn close(&mut self, peer: PeerId, there: ConsumerId) -> Option<ConsumerId> {
        let peer = self.peers.get_mut(&peer)?;
        let consumer = peer.connections.remove(&there)?;
        let known = self.consumers.get_mut(&consumer)?;
        let was_open = std::mem::replace(&mut known.is_open, false);
        self.forget_if_done(consumer);
        was_open.then_some(consumer)
    }

    fn forget_if_done(&mut self, consumer: ConsumerId) {
        let known = self.consumers.get(&consumer);
        let Some(known) = known.filter(|it| !it.is_open && it.asked == 0) else {
            return;
        };
        if let Some(peer) = self.peers.get_mut(&known.peer)
            && peer.connections.get(&known.there) == Some(&consumer)
        {
            peer.connections.remove(&known.there);
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
        self.consumers.retain(|_, known| known.peer != peer);
        open
    }
}

impl<S: Store> Shard<S> {
    /// A serving node says something.
    pub(super) fn peer_says(
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
                heard,
            } => {
                self.begin_session((peer, node), (epoch, heard), sent, now, term);
            }
            ToLeader::Released { epoch }
                if self.fence().is_none_or(|fence| fence.epoch != epoch) =>
            {
                self.audience.granted.remove(&(peer, epoch));
            }
            message if self.audience.peers.contains_key(&peer) => {
                self.partner_says(peer, message, now, term);
            }
            _ => {}
        }
    }

    fn partner_says(&mut self, peer: PeerId, message: ToLeader, now: Now, term: Option<Term>) {
        let audience = &mut self.audience;
        let of = |there| audience.of(peer, there);
        let input = match message {
            ToLeader::Begin { .. } | ToLeader::Released { .. } => None,
            ToLeader::Ping { sent, heard } => {
                if let Some(peer) = audience.peers.get_mut(&peer) {
                    peer.has_heard(heard);
                }
                let fence = self.fence();
                // Its answer would say that everything sent before was taken.
                let fence = fence.filter(|_| self.takes_answers(now));
                let epoch = fence.map(|fence| fence.epoch);
                if let Some(epoch) = epoch
                    && let Some(holds) = self.grant((peer, epoch), sent, now, term)
                {
                    let holds = ToServing::Holds { epoch, holds };
                    self.effects.told.push((peer, holds));
                }
                None
            }
            ToLeader::Ready => self.peer_is_ready(peer),
            ToLeader::Ending => {
                if let Some(peer) = audience.peers.get_mut(&peer) {
                    peer.is_ending = true;
                }
                None
            }
            ToLeader::Opened(there) => Some(Input::Opened(audience.open(peer, there))),
            ToLeader::Bound(there, route, mode) => {
                of(there).map(|it| Input::Bound(it, route, mode))
            }
            ToLeader::Adopted(there, copies) => {
                let consumer = of(there);
                self.are_there(peer, &copies);
                consumer.map(|it| Input::Adopted(it, copies))
            }
            ToLeader::Lent(there, credit) => of(there).map(|it| Input::Lent(it, credit)),
            ToLeader::Recalled(there, credit) => of(there).map(|it| Input::Recalled(it, credit)),
            ToLeader::Closing(there) => of(there).map(Input::Closing),
            ToLeader::Closed(there) => self.connection_closed(peer, there, now),
            ToLeader::Asked(there, number, asked)
                if self.trimming.is_full() && asked.is_schedule() =>
            {
                let refused = Told::Reply(number, Reply::Error(asked.refusal(FULL)));
                self.effects
                    .told
                    .push((peer, ToServing::Told(there, refused)));
                None
            }
            ToLeader::Asked(there, number, asked) => {
                let consumer = audience.asking(peer, there);
                match asked.into_input(consumer, number) {
                    Ok(input) => Some(input),
                    Err(look) => {
                        self.audience.answered(consumer);
                        let looked = self.look(look).map(|it| Told::Looked(number, it));
                        let told = looked.map(|it| (peer, ToServing::Told(there, it)));
                        self.effects.told.extend(told);
                        None
                    }
                }
            }
            ToLeader::Acked {
                consumer,
                subject,
                confirm,
            } => {
                let audience = &mut self.audience;
                let of = |there| audience.of(peer, there);
                let consumer = match confirm {
                    Some(_) => audience.asking(peer, consumer),
                    None => of(consumer).unwrap_or(NO_CONSUMER),
                };
                Some(Input::Acked(Box::new(Acked {
                    consumer,
                    subject,
                    confirm: confirm.map(|number| reply_to(consumer, number)),
                })))
            }
            ToLeader::Nacked {
                consumer,
                named,
                seq,
                delay_ms,
                reason,
                failed,
            } => of(consumer).map(|consumer| {
                Input::Nacked(Box::new(Nacked {
                    consumer,
                    named,
                    seq,
                    delay_ms,
                    reason,
                    failed,
                }))
            }),
            ToLeader::NotSent(there, NotSent { seq, id, why }) => of(there).map(|consumer| {
                let copy = CopyOf { consumer, seq, id };
                match why {
                    Why::Gone => Input::Unsent(copy),
                    Why::Unwritten { attempt } => Input::Unwritten { copy, attempt },
                    Why::Void { attempt } => Input::Void {
                        copy,
                        attempt,
                        authority: None,
                    },
                    Why::TooLate { attempt, until } => Input::SentTooLate {
                        copy,
                        attempt,
                        until,
                    },
                    Why::Undeliverable(reason) => Input::Undeliverable { copy, reason },
                }
            }),
        };
        if let Some(input) = input {
            self.asked(input, now);
        }
    }

    /// Passes what the scheduler says to the nodes of the connections.
    pub(super) fn tell(&mut self, messages: Vec<(ConsumerId, Message)>, now: Now) {
        let after = self.applied();
        let Self {
            audience, effects, ..
        } = self;
        for (consumer, message) in messages {
            let Some(Known { peer, there, .. }) = audience.consumers.get(&consumer).copied() else {
                // It has left. Tests also have consumers of no serving node.
                #[cfg(test)]
                effects.messages.push((consumer, message));
                continue;
            };
            let told = match message {
                Message::Reply { reply, weight, .. } => match weight {
                    0 => Told::News(reply),
                    number => answer(number, reply, now),
                },
                Message::Quiet(number) => Told::Quiet(number),
                Message::Credit(credit) => Told::Credit(credit),
                Message::Deliver {
                    seq,
                    route,
                    id,
                    attempt,
                    until,
                    write_by,
                    expires_at,
                    ..
                } => {
                    audience.copies += 1;
                    let number = audience.copies;
                    if let Some(peer) = audience.peers.get_mut(&peer) {
                        peer.is_sent(number, (consumer, seq, attempt));
                    }
                    Told::Deliver(Box::new(Copy {
                        number,
                        subject: Subject {
                            route,
                            id,
                            seq,
                            attempt,
                        },
                        until,
                        write_by,
                        expires: expires_at.map(|at| expires(at, now)),
                        after,
                    }))
                }
            };
            if let Told::Reply(..) | Told::Touched(..) | Told::Quiet(_) = told {
                audience.answered(consumer);
            }
            effects.told.push((peer, ToServing::Told(there, told)));
        }
    }
}

/// Converts a time in Unix milliseconds to the clock of this node, in nanoseconds.
fn expires(at: u64, now: Now) -> u64 {
    let left = at
        .saturating_sub(now.wall_millis())
        .saturating_mul(1_000_000);
    now.monotonic.value().saturating_add(left)
}

/// Returns the answer to a request, with the deadline after a touch as a time that does not depend on
/// the wall clock of the serving node.
fn answer(number: Number, reply: Reply, now: Now) -> Told {
    match reply {
        Reply::Touched {
            deadline: Some(deadline),
            ..
        } => Told::Touched(number, reply, now.tick_of(deadline)),
        reply => Told::Reply(number, reply),
    }
}
