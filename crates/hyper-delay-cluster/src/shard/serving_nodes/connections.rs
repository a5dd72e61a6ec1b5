//! The connections of all serving nodes, numbered for the scheduler.

use std::collections::BTreeMap;

use super::PeerId;
use hyper_delay_engine::scheduler::ConsumerId;

/// The connections that the scheduler knows.
///
/// One is forgotten when it is not open and has no request in flight: connections without routes only
/// ask, and the last replies come after the end.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// By the number that the scheduler knows.
    by_consumer: BTreeMap<ConsumerId, ServingConnection>,
    /// The number that the scheduler knows, by the node and the number there. A connection that is
    /// closed there is not found by it any more.
    by_remote: BTreeMap<(PeerId, ConsumerId), ConsumerId>,
    /// The last number that the scheduler knows.
    last: ConsumerId,
}

#[derive(Debug, Clone, Copy)]
struct ServingConnection {
    peer: PeerId,
    /// The number there.
    remote_id: ConsumerId,
    is_open: bool,
    /// Requests without an answer.
    requests: u32,
}

impl Connections {
    /// Returns the number that the scheduler knows.
    pub(super) fn consumer_of(&self, peer: PeerId, remote_id: ConsumerId) -> Option<ConsumerId> {
        self.by_remote.get(&(peer, remote_id)).copied()
    }

    /// Returns the node of a connection, and the number there.
    pub(super) fn remote_of(&self, consumer: ConsumerId) -> Option<(PeerId, ConsumerId)> {
        let connection = self.by_consumer.get(&consumer)?;
        Some((connection.peer, connection.remote_id))
    }

    /// The connection there has opened.
    pub(super) fn open(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        let (consumer, connection) = self.connection(peer, remote_id);
        connection.is_open = true;
        consumer
    }

    /// The connection there sends a request.
    pub(super) fn begin_request(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        let (consumer, connection) = self.connection(peer, remote_id);
        connection.requests += 1;
        consumer
    }

    /// A request of a connection is answered.
    pub(super) fn end_request(&mut self, consumer: ConsumerId) {
        if let Some(connection) = self.by_consumer.get_mut(&consumer) {
            connection.requests = connection.requests.saturating_sub(1);
        }
        self.forget_if_done(consumer);
    }

    /// The connection there is closed. Its requests are still answered. Returns it if it was open.
    pub(super) fn close(&mut self, peer: PeerId, remote_id: ConsumerId) -> Option<ConsumerId> {
        let consumer = self.by_remote.remove(&(peer, remote_id))?;
        let connection = self.by_consumer.get_mut(&consumer)?;
        let was_open = std::mem::replace(&mut connection.is_open, false);
        self.forget_if_done(consumer);
        was_open.then_some(consumer)
    }

    /// Forgets the connections of a node. Returns those that were open.
    pub(super) fn remove_peer(&mut self, peer: PeerId) -> Vec<ConsumerId> {
        let of_peer = self.by_consumer.iter().filter(|(_, it)| it.peer == peer);
        let open = of_peer.filter(|(_, it)| it.is_open);
        let open = open.map(|(consumer, _)| *consumer).collect();
        self.by_consumer.retain(|_, it| it.peer != peer);
        self.by_remote.retain(|(of, _), _| *of != peer);
        open
    }

    /// Forgets all connections. Their numbers are not used again.
    pub(super) fn clear(&mut self) {
        self.by_consumer.clear();
        self.by_remote.clear();
    }

    /// Returns the connection there. It is made known if it is not.
    fn connection(
        &mut self,
        peer: PeerId,
        remote_id: ConsumerId,
    ) -> (ConsumerId, &mut ServingConnection) {
        let consumer = *self.by_remote.entry((peer, remote_id)).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        let connection = self.by_consumer.entry(consumer);
        let connection = connection.or_insert(ServingConnection {
            peer,
            remote_id,
            is_open: false,
            requests: 0,
        });
        (consumer, connection)
    }

    fn forget_if_done(&mut self, consumer: ConsumerId) {
        let connection = self.by_consumer.get(&consumer);
        let Some(connection) = connection.filter(|it| !it.is_open && it.requests == 0) else {
            return;
        };
        let remote = (connection.peer, connection.remote_id);
        if self.by_remote.get(&remote) == Some(&consumer) {
            self.by_remote.remove(&remote);
        }
        self.by_consumer.remove(&consumer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: PeerId = PeerId(3);
    const REMOTE: ConsumerId = 70;

    #[test]
    fn a_connection_that_only_asks_is_forgotten_with_its_last_answer() {
        let mut connections = Connections::default();
        let consumer = connections.begin_request(PEER, REMOTE);
        assert_eq!(connections.begin_request(PEER, REMOTE), consumer);
        connections.end_request(consumer);
        assert_eq!(connections.remote_of(consumer), Some((PEER, REMOTE)));
        connections.end_request(consumer);
        assert_eq!(connections.remote_of(consumer), None);
        assert_ne!(connections.begin_request(PEER, REMOTE), consumer);
    }

    #[test]
    fn a_closed_connection_is_known_until_its_requests_are_answered() {
        let mut connections = Connections::default();
        let consumer = connections.open(PEER, REMOTE);
        assert_eq!(connections.begin_request(PEER, REMOTE), consumer);
        assert_eq!(connections.close(PEER, REMOTE), Some(consumer));
        assert_eq!(connections.consumer_of(PEER, REMOTE), None);
        assert_eq!(connections.remote_of(consumer), Some((PEER, REMOTE)));
        let next = connections.open(PEER, REMOTE);
        assert_ne!(next, consumer, "its number is used again there");
        connections.end_request(consumer);
        assert_eq!(connections.remote_of(consumer), None);
        assert_eq!(connections.consumer_of(PEER, REMOTE), Some(next));
    }

    #[test]
    fn a_connection_that_was_not_open_does_not_close() {
        let mut connections = Connections::default();
        let consumer = connections.begin_request(PEER, REMOTE);
        assert_eq!(connections.close(PEER, REMOTE), None);
        assert_eq!(connections.remote_of(consumer), Some((PEER, REMOTE)));
    }

    #[test]
    fn the_connections_of_a_node_leave_with_it() {
        let mut connections = Connections::default();
        let open = connections.open(PEER, REMOTE);
        let asking = connections.begin_request(PEER, REMOTE + 1);
        let other = connections.open(PeerId(4), REMOTE);
        assert_eq!(connections.remove_peer(PEER), [open]);
        for consumer in [open, asking] {
            assert_eq!(connections.remote_of(consumer), None);
        }
        assert_eq!(connections.consumer_of(PEER, REMOTE), None);
        assert_eq!(connections.consumer_of(PeerId(4), REMOTE), Some(other));
    }
}
