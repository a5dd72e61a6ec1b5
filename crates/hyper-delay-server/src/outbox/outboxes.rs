//! The outboxes of all connections, on the thread that fills them.

use std::{collections::HashMap, sync::Arc};

use super::ConnectionOutbox;
use hyper_delay_engine::front::{ConsumerMessage, FrontInput};
use hyper_delay_engine::scheduler::ConsumerId;

/// The outboxes of all connections, and of peers without one.
#[derive(Debug, Default)]
pub struct ConnectionOutboxes(HashMap<ConsumerId, Arc<ConnectionOutbox>>);

impl ConnectionOutboxes {
    /// Adds the outbox of a connection.
    pub fn insert(&mut self, consumer: ConsumerId, outbox: Arc<ConnectionOutbox>) {
        self.0.insert(consumer, outbox);
    }

    /// Removes the outbox of a connection.
    pub fn remove(&mut self, consumer: ConsumerId) {
        self.0.remove(&consumer);
    }

    /// Passes messages on, in this order for each connection. Those to a connection that has ended
    /// are dropped.
    pub fn deliver(&self, messages: Vec<(ConsumerId, ConsumerMessage)>) {
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

    /// Returns the inputs for the unwritten deliveries of a closed connection.
    #[must_use]
    pub fn take_unwritten(&self, consumer: ConsumerId) -> Vec<FrontInput> {
        let outbox = self.0.get(&consumer);
        outbox
            .map(|outbox| outbox.take_unwritten())
            .unwrap_or_default()
    }

    /// Returns the outboxes.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ConnectionOutbox>> {
        self.0.values()
    }

    /// Closes all of them.
    pub fn close(&self) {
        for outbox in self.0.values() {
            outbox.close();
        }
    }
}
