//! The outboxes of all connections, as the thread that fills them knows them.

use std::{collections::HashMap, sync::Arc};

use super::Outbox;
use hyper_delay_engine::scheduler::{ConsumerId, Input, Message};

/// The outboxes of all connections, and of peers without one.
#[derive(Debug, Default)]
pub struct Outboxes(HashMap<ConsumerId, Arc<Outbox>>);

impl Outboxes {
    /// Adds the outbox of a connection.
    pub fn insert(&mut self, consumer: ConsumerId, outbox: Arc<Outbox>) {
        self.0.insert(consumer, outbox);
    }

    /// Removes the outbox of a connection.
    pub fn remove(&mut self, consumer: ConsumerId) {
        self.0.remove(&consumer);
    }

    /// Passes messages on, in this order for each connection. Those to a connection that has ended
    /// are dropped.
    pub fn deliver(&self, messages: Vec<(ConsumerId, Message)>) {
        let mut woken = Vec::new();
        for (consumer, message) in messages {
            if let Some(outbox) = self.0.get(&consumer)
                && outbox.push(message)
            {
                woken.push(outbox);
            }
        }
        for outbox in woken {
            outbox.wake();
        }
    }

    /// A connection is closed. Returns what its writer has not written.
    #[must_use]
    pub fn take_unwritten(&self, consumer: ConsumerId) -> Vec<Input> {
        let outbox = self.0.get(&consumer);
        outbox
            .map(|outbox| outbox.take_unwritten())
            .unwrap_or_default()
    }

    /// Returns the outboxes.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.0.values()
    }

    /// Closes all of them.
    pub fn close(&self) {
        for outbox in self.0.values() {
            outbox.close();
        }
    }
}
