//! The connections of all nodes, as the leader of a shard sees them.

use std::collections::{BTreeMap, BTreeSet};

use race_wheel::Tick;

use super::Shard;
use crate::{
    clock::{Now, nanos},
    cluster::{
        forward::wire::{Asked, Copy, Holds, NotSent, Number, ToLeader, ToServing, Told, Why},
        lease::Term,
        log::Fence,
    },
    ledger::Subject,
    protocol::Line,
    scheduler::{Acked, Ask, ConsumerId, CopyOf, Input, Message, Nacked, Operated, ReplyTo},
    store::Store,
};

/// A link from a node, by a number that is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PeerId(pub(crate) u64);

/// The number of no connection.
const NOBODY: ConsumerId = 0;

/// The serving nodes that have a session with this leader, and their connections.
#[derive(Debug, Default)]
pub(super) struct Audience {
    peers: BTreeMap<PeerId, Peer>,
    /// The connections, by the number that the scheduler knows.
    consumers: BTreeMap<ConsumerId, (PeerId, ConsumerId)>,
    /// The last number that the scheduler knows.
    last: ConsumerId,
    /// Until this moment nothing is delivered, unless all nodes are ready before.
    holding: Option<Tick>,
    /// The nodes that write deliveries of an earlier leadership of this node, perhaps.
    unreleased: BTreeSet<PeerId>,
    /// They do not after this moment.
    granted: Tick,
}

/// A serving node.
#[derive(Debug, Default)]
struct Peer {
    /// The number that the scheduler knows, by the number there.
    connections: BTreeMap<ConsumerId, Known>,
    is_ready: bool,
}

/// A connection that the scheduler knows.
#[derive(Debug, Clone, Copy)]
struct Known {
    consumer: ConsumerId,
    /// It was not opened, and only asks: it is forgotten with the answer.
    is_guest: bool,
}

impl Audience {
    /// Returns when something is to be done.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.holding
    }

    /// Returns the moment from which on no node writes a delivery of the last leadership.
    pub(super) fn released(&self) -> Tick {
        match self.unreleased.is_empty() {
            true => Tick::ZERO,
            false => self.granted,
        }
    }

    fn new_consumer(&mut self, peer: PeerId, there: ConsumerId, is_guest: bool) -> ConsumerId {
        self.last += 1;
        let consumer = self.last;
        self.consumers.insert(consumer, (peer, there));
        let known = Known { consumer, is_guest };
        let peer = self.peers.entry(peer).or_default();
        peer.connections.insert(there, known);
        consumer
    }

    fn of(&self, peer: PeerId, there: ConsumerId) -> Option<ConsumerId> {
        let known = self.peers.get(&peer)?.connections.get(&there)?;
        Some(known.consumer)
    }

    /// The connection there asks: it is known, or asks as a guest.
    fn asking(&mut self, peer: PeerId, there: ConsumerId) -> ConsumerId {
        match self.of(peer, there) {
            Some(consumer) => consumer,
            None => self.new_consumer(peer, there, true),
        }
    }

    fn remove(&mut self, peer: PeerId, there: ConsumerId) -> Option<ConsumerId> {
        let peer = self.peers.get_mut(&peer)?;
        let known = peer.connections.remove(&there)?;
        self.consumers.remove(&known.consumer);
        Some(known.consumer)
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
            ToLeader::Begin { epoch, sent } => self.begin_session(peer, epoch, sent, now, term),
            ToLeader::Released { epoch }
                if self.fence().is_none_or(|fence| fence.epoch != epoch) =>
            {
                self.audience.unreleased.remove(&peer);
            }
            message if self.audience.peers.contains_key(&peer) => {
                self.partner_says(peer, message, now, term);
            }
            _ => {}
        }
    }

    fn begin_session(
        &mut self,
        peer: PeerId,
        epoch: u64,
        sent: Tick,
        now: Now,
        term: Option<Term>,
    ) {
        self.peer_is_gone(peer, now);
        let leads = self.fence().filter(|fence| fence.epoch == epoch);
        let Some(holds) = leads.and_then(|_| self.grant(sent, now, term)) else {
            self.effects.told.push((peer, ToServing::Refused { epoch }));
            return;
        };
        self.audience.peers.insert(peer, Peer::default());
        self.audience.unreleased.insert(peer);
        let accepted = ToServing::Accepted { epoch, holds };
        self.effects.told.push((peer, accepted));
    }

    /// Lets a serving node write deliveries for a part of the lease.
    fn grant(&mut self, asked: Tick, now: Now, term: Option<Term>) -> Option<Holds> {
        let term = term.filter(|term| term.holds(now))?;
        let until = term.until.min(now.after(self.setup.lease / 2));
        // The clock of the serving node can be slower than that of this one.
        let ends = until + nanos(self.setup.lease / 8);
        self.audience.granted = self.audience.granted.max(ends);
        Some(Holds {
            asked,
            at: now.monotonic,
            until,
        })
    }

    fn partner_says(&mut self, peer: PeerId, message: ToLeader, now: Now, term: Option<Term>) {
        let audience = &mut self.audience;
        let of = |there| audience.of(peer, there);
        let input = match message {
            ToLeader::Begin { .. } | ToLeader::Released { .. } => None,
            ToLeader::Ping { sent } => {
                let epoch = self.fence().map(|fence| fence.epoch);
                if let (Some(epoch), Some(holds)) = (epoch, self.grant(sent, now, term)) {
                    let holds = ToServing::Holds { epoch, holds };
                    self.effects.told.push((peer, holds));
                }
                None
            }
            ToLeader::Ready => {
                if let Some(peer) = audience.peers.get_mut(&peer) {
                    peer.is_ready = true;
                }
                None
            }
            ToLeader::Opened(there) => {
                let consumer = match of(there) {
                    Some(consumer) => consumer,
                    None => audience.new_consumer(peer, there, false),
                };
                Some(Input::Opened(consumer))
            }
            ToLeader::Accepts(there, accept) => of(there).map(|it| Input::Accepts(it, accept)),
            ToLeader::Bound(there, route, mode) => {
                of(there).map(|it| Input::Bound(it, route, mode))
            }
            ToLeader::Adopted(there, copies) => of(there).map(|it| Input::Adopted(it, copies)),
            ToLeader::Lent(there, credit) => of(there).map(|it| Input::Lent(it, credit)),
            ToLeader::Recalled(there, credit) => of(there).map(|it| Input::Recalled(it, credit)),
            ToLeader::Closing(there) => of(there).map(Input::Closing),
            ToLeader::Closed(there) => audience.remove(peer, there).map(Input::Closed),
            ToLeader::Asked(there, number, asked) => {
                let consumer = audience.asking(peer, there);
                Some(asked.into_input(consumer, number))
            }
            ToLeader::Acked {
                consumer,
                subject,
                confirm,
            } => {
                let consumer = match confirm {
                    Some(_) => audience.asking(peer, consumer),
                    None => of(consumer).unwrap_or(NOBODY),
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
            } => of(consumer).map(|consumer| {
                Input::Nacked(Box::new(Nacked {
                    consumer,
                    named,
                    seq,
                    delay_ms,
                    reason,
                }))
            }),
            ToLeader::NotSent(there, NotSent { seq, id, why }) => of(there).map(|consumer| {
                let copy = CopyOf { consumer, seq, id };
                match why {
                    Why::Gone => Input::Unsent(copy),
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

    /// The link from a node is broken: its connections are gone.
    pub(super) fn peer_is_gone(&mut self, peer: PeerId, now: Now) {
        let Some(gone) = self.audience.peers.remove(&peer) else {
            return;
        };
        for known in gone.connections.into_values() {
            self.audience.consumers.remove(&known.consumer);
            if !known.is_guest {
                self.input(Input::Closed(known.consumer), now);
            }
        }
    }

    /// The leadership begins: nothing is delivered until all nodes have said what is in flight.
    pub(super) fn audience_begins(&mut self, now: Now) {
        let audience = &mut self.audience;
        audience.holding = Some(now.after(self.setup.lease / 8));
        if audience.granted <= now.monotonic {
            audience.unreleased.clear();
        }
        self.input(Input::TookOver, now);
        self.input(Input::Holding(true), now);
    }

    /// The leadership has ended, and with it the sessions.
    pub(super) fn audience_ends(&mut self, fence: Fence) {
        let epoch = fence.epoch;
        self.audience.holding = None;
        self.audience.consumers.clear();
        for peer in std::mem::take(&mut self.audience.peers).into_keys() {
            self.effects.told.push((peer, ToServing::Ended { epoch }));
        }
    }

    /// Lets deliveries begin if all nodes are ready, or were waited for long enough.
    pub(super) fn hold_or_begin(&mut self, now: Now) {
        let Some(until) = self.audience.holding else {
            return;
        };
        let ready = self.audience.peers.values().filter(|peer| peer.is_ready);
        if ready.count() >= self.members.len() || now.monotonic >= until {
            self.audience.holding = None;
            self.input(Input::Holding(false), now);
        }
    }

    /// Passes what the scheduler says to the nodes of the connections.
    pub(super) fn tell(&mut self, messages: Vec<(ConsumerId, Message)>) {
        let after = self.applied();
        let Self {
            audience, effects, ..
        } = self;
        for (consumer, message) in messages {
            let Some((peer, there)) = audience.consumers.get(&consumer).copied() else {
                effects.messages.push((consumer, message));
                continue;
            };
            let told = match message {
                Message::Reply { reply, weight, .. } => match weight {
                    0 => Told::News(reply),
                    number => Told::Reply(number, reply),
                },
                Message::Quiet(number) => Told::Quiet(number),
                Message::Credit(credit) => Told::Credit(credit),
                Message::Deliver {
                    seq,
                    route,
                    id,
                    attempt,
                    until,
                    accept,
                    ..
                } => Told::Deliver(Box::new(Copy {
                    subject: Subject {
                        route,
                        id,
                        seq,
                        attempt,
                    },
                    until,
                    accept,
                    after,
                })),
            };
            let known = audience.peers.get(&peer);
            let known = known.and_then(|peer| peer.connections.get(&there));
            if known.is_some_and(|known| known.is_guest) {
                audience.remove(peer, there);
            }
            effects.told.push((peer, ToServing::Told(there, told)));
        }
    }
}

impl Asked {
    /// Returns what the scheduler is told.
    fn into_input(self, consumer: ConsumerId, number: Number) -> Input {
        match self {
            Self::Request(request, grant) => {
                let line = Line {
                    tag: None,
                    token: None,
                    request,
                };
                let ask = Ask {
                    line,
                    weight: number,
                    grant,
                };
                Input::Asked(consumer, vec![ask])
            }
            Self::Operated(request, actor) => Input::Operated(Box::new(Operated {
                request,
                actor,
                reply_to: reply_to(consumer, number),
            })),
        }
    }
}

/// The scheduler returns the weight of a request with its reply, and does not look at it. Here it is
/// the number of the request.
const fn reply_to(consumer: ConsumerId, number: Number) -> ReplyTo {
    ReplyTo {
        consumer,
        tag: None,
        weight: number,
    }
}
