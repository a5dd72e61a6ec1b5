//! What the leader of a session that has ended was not told of deliveries.

use super::{
    Forwarder,
    deliveries::Delivered,
    session::{Awaiting, Up},
};

impl Forwarder {
    /// A session has ended. The copies of it that were not passed to their connections never will be,
    /// which the leader is told if there is another session with it.
    pub(super) fn not_passed_on(&mut self, up: &Up, awaiting: impl Iterator<Item = Awaiting>) {
        for Awaiting { consumer, copy, .. } in awaiting {
            if let Some(connection) = self.connections.get_mut(&consumer) {
                let epoch = up.partner.epoch;
                let until = up.holds.here(copy.until);
                let delivered = Delivered::new(&copy, epoch, until, up.authority.clone());
                connection
                    .deliveries
                    .was_void(consumer, copy.subject.id, delivered);
            }
        }
        for (consumer, connection) in &mut self.connections {
            let held = connection.deliveries.take_held(&up.authority);
            for (id, delivered) in held {
                connection.deliveries.was_void(*consumer, id, delivered);
            }
        }
    }
}
