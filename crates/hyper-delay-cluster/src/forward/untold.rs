//! What a leader may not have been told of deliveries.
//!
//! An ack without a reply, a nack, and the news that a delivery was not sent have no answer. A
//! leader that hands its shard over takes none of them after its last entry, and a link can break
//! with them on their way. An ack whose reply is lost counts as one without from then on. So a
//! session keeps them until the leader has answered a later ping, and the next session begins with
//! those that are left. They name a revision and a round: repeating them changes nothing.

use std::{collections::VecDeque, sync::Arc};

use race_wheel::Tick;

use super::{
    Forwarder,
    deliveries::Delivered,
    session::{Awaiting, NEVER, Queueable, Queued, Up},
    wire::ToLeader,
};
use crate::ShardId;
use hyper_delay_engine::{ledger::Subject, scheduler::ConsumerId};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Untold {
    /// With the time at which they were sent.
    sent: VecDeque<(Tick, ConsumerId, Fate)>,
}

/// What has become of a delivery.
#[derive(Debug)]
pub(super) enum Fate {
    /// It is acknowledged, without a reply.
    Acked(Subject, Delivered),
    /// It was given back or not sent, as the message says.
    NotDone(Arc<str>, Delivered, ToLeader),
}

impl Untold {
    /// The leader is sent something now.
    pub(super) fn sent(&mut self, now: Tick, consumer: ConsumerId, fate: Fate) {
        self.sent.push_back((now, consumer, fate));
    }

    /// The leader has taken everything that was sent before that moment.
    pub(super) fn taken(&mut self, before: Tick) {
        let sent = self.sent.iter();
        let taken = sent.take_while(|(at, ..)| *at < before).count();
        self.sent.drain(..taken);
    }
}

impl Forwarder {
    /// A session has ended: what its leader may not have taken waits for the next one.
    pub(super) fn tell_again(&mut self, shard: ShardId) {
        let untold = std::mem::take(&mut self.session(shard).untold);
        for (_, consumer, fate) in untold.sent {
            match fate {
                Fate::Acked(subject, delivered) => self.session(shard).queue.push_back(Queued {
                    consumer,
                    what: Queueable::Ack(subject, delivered, None),
                    expires: NEVER,
                }),
                Fate::NotDone(id, delivered, message) => {
                    if let Some(connection) = self.connections.get_mut(&consumer) {
                        connection.deliveries.cannot_say(&id, delivered, message);
                    }
                }
            }
        }
    }

    /// A session has ended. The copies of it that were not passed to their connections never will be,
    /// which the leader is told if there is another session with it.
    pub(super) fn not_passed_on(&mut self, up: &Up, awaiting: impl Iterator<Item = Awaiting>) {
        for Awaiting { consumer, copy, .. } in awaiting {
            if let Some(connection) = self.connections.get_mut(&consumer) {
                let delivered = up.delivered(&copy);
                let id = copy.subject.id;
                let message = delivered.was_void(consumer, id.clone());
                connection.deliveries.cannot_say(&id, delivered, message);
            }
        }
        for (consumer, connection) in &mut self.connections {
            let is_of_session = |it: &Delivered| Arc::ptr_eq(&it.authority, &up.authority);
            for (id, delivered) in connection.deliveries.take_held(is_of_session) {
                let message = delivered.was_void(*consumer, id.clone());
                connection.deliveries.cannot_say(&id, delivered, message);
            }
        }
    }
}
