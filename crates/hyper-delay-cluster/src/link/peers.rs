//! The links from serving nodes, as the shards of this node know them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    error::LinkError,
    handshake::{HandshakeRefusal, LinkIncarnation},
    outbox::{LinkOutbox, OutboxClosed},
};
use crate::{
    ShardId,
    forward::wire::{ToLeader, ToServing},
    log::NodeName,
    shard::{PeerId, ShardEvent},
};

/// The links from serving nodes. A link has a number that is never used again; 0 is the forwarder
/// of this node, which needs no link.
pub(crate) struct Peers {
    shards: u16,
    on_event: Box<dyn Fn(ShardId, ShardEvent) + Send + Sync>,
    inner: Mutex<PeerTable>,
}

#[derive(Debug, Default)]
struct PeerTable {
    /// The last number.
    last: u64,
    links: BTreeMap<PeerId, PeerLink>,
    nodes: BTreeMap<NodeName, (LinkIncarnation, PeerId)>,
}

#[derive(Debug, Clone)]
struct PeerLink {
    outbox: Arc<LinkOutbox>,
    gate: Arc<PeerGate>,
}

/// Whether messages of a link are still passed on. Held while one is: so none comes after the news
/// that the link is gone.
#[derive(Debug)]
struct PeerGate(Mutex<bool>);

/// A link, until it is dropped.
#[derive(Debug)]
pub(super) struct PeerRegistration {
    peers: Arc<Peers>,
    node: NodeName,
    id: PeerId,
    gate: Arc<PeerGate>,
}

impl Peers {
    /// `on_event` passes an event to the thread of a shard. It must not block.
    pub(crate) fn new(
        shards: u16,
        on_event: impl Fn(ShardId, ShardEvent) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            shards,
            on_event: Box::new(on_event),
            inner: Mutex::default(),
        })
    }

    /// Sends messages of a shard, in their order for each link. A message is lost if the link is
    /// gone. Never blocks.
    pub(crate) fn send(&self, shard: ShardId, messages: &[(PeerId, ToServing)]) {
        let inner = self.lock();
        let outbox = |peer: &PeerId| inner.links.get(peer).map(|link| &link.outbox);
        for (peer, message) in messages {
            if let Some(outbox) = outbox(peer) {
                outbox.push(shard, message);
            }
        }
        for (peer, _) in messages {
            if let Some(outbox) = outbox(peer) {
                outbox.flush();
            }
        }
    }

    /// A node has a link. An older one of the same node ends: the shards learn this before they get
    /// anything of the new one.
    pub(super) fn register(
        self: &Arc<Self>,
        node: &NodeName,
        incarnation: LinkIncarnation,
        outbox: Arc<LinkOutbox>,
    ) -> Result<PeerRegistration, HandshakeRefusal> {
        let mut inner = self.lock();
        if let Some((older, id)) = inner.nodes.get(node).copied() {
            if older > incarnation {
                return Err(HandshakeRefusal::Older(node.clone()));
            }
            if let Some(link) = inner.links.remove(&id) {
                link.outbox.close(OutboxClosed::Replaced);
                self.close(&link.gate, id);
            }
        }
        inner.last += 1;
        let id = PeerId(inner.last);
        let gate = Arc::new(PeerGate(Mutex::new(true)));
        let link = PeerLink {
            outbox,
            gate: gate.clone(),
        };
        inner.links.insert(id, link);
        inner.nodes.insert(node.clone(), (incarnation, id));
        Ok(PeerRegistration {
            peers: self.clone(),
            node: node.clone(),
            id,
            gate,
        })
    }

    fn close(&self, gate: &PeerGate, id: PeerId) {
        let mut is_open = gate.lock();
        if std::mem::replace(&mut *is_open, false) {
            for shard in (0..self.shards).map(ShardId) {
                (self.on_event)(shard, ShardEvent::PeerDisconnected(id));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PeerTable> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PeerRegistration {
    /// Passes a message to its shard.
    pub(super) fn forward(&self, shard: ShardId, message: ToLeader) -> Result<(), LinkError> {
        if shard.0 >= self.peers.shards {
            return Err(LinkError::NoShard {
                node: self.node.clone(),
                shard: shard.0,
            });
        }
        let is_open = self.gate.lock();
        if !*is_open {
            return Err(LinkError::Replaced);
        }
        (self.peers.on_event)(shard, ShardEvent::PeerMessage(self.id, message));
        Ok(())
    }
}

impl Drop for PeerRegistration {
    fn drop(&mut self) {
        let mut inner = self.peers.lock();
        inner.links.remove(&self.id);
        if inner
            .nodes
            .get(&self.node)
            .is_some_and(|(_, id)| *id == self.id)
        {
            inner.nodes.remove(&self.node);
        }
        self.peers.close(&self.gate, self.id);
    }
}

impl PeerGate {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Peers");
        shown.field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn peers() -> (Arc<Peers>, Receiver<String>) {
        let (messages, events) = channel();
        let peers = Peers::new(2, move |shard, event| {
            let event = match event {
                ShardEvent::PeerMessage(peer, ToLeader::Opened(consumer)) => {
                    format!("{peer:?} {consumer}")
                }
                ShardEvent::PeerDisconnected(peer) => format!("{peer:?} gone"),
                other => panic!("{other:?}"),
            };
            messages.send(format!("{} {event}", shard.0)).unwrap();
        });
        (peers, events)
    }

    fn life(process: u64, link: u64) -> LinkIncarnation {
        LinkIncarnation { process, link }
    }

    fn outbox() -> Arc<LinkOutbox> {
        Arc::new(LinkOutbox::new(1_000))
    }

    #[test]
    fn a_newer_link_of_a_node_ends_the_older_one_first() {
        let (peers, events) = peers();
        let node = NodeName::from("b");
        let old = peers.register(&node, life(7, 1), outbox()).unwrap();
        old.forward(ShardId(1), ToLeader::Opened(5)).unwrap();
        let new = peers.register(&node, life(7, 2), outbox()).unwrap();
        assert!(old.forward(ShardId(1), ToLeader::Opened(6)).is_err());
        new.forward(ShardId(0), ToLeader::Opened(7)).unwrap();
        drop(old);
        new.forward(ShardId(0), ToLeader::Opened(8)).unwrap();
        drop(new);
        let expected = [
            "1 PeerId(1) 5",
            "0 PeerId(1) gone",
            "1 PeerId(1) gone",
            "0 PeerId(2) 7",
            "0 PeerId(2) 8",
            "0 PeerId(2) gone",
            "1 PeerId(2) gone",
        ];
        let events: Vec<_> = events.try_iter().collect();
        assert_eq!(events, expected);
    }

    #[test]
    fn an_older_process_does_not_replace_a_newer_one_until_that_is_gone() {
        let (peers, _events) = peers();
        let node = NodeName::from("b");
        let new = peers.register(&node, life(8, 1), outbox()).unwrap();
        let refused = peers.register(&node, life(7, 2), outbox()).unwrap_err();
        assert_eq!(refused, HandshakeRefusal::Older(node.clone()));
        peers.register(&"c".into(), life(1, 1), outbox()).unwrap();
        drop(new);
        peers.register(&node, life(7, 2), outbox()).unwrap();
    }

    #[test]
    fn a_message_of_a_shard_that_does_not_exist_is_an_error() {
        let (peers, events) = peers();
        let entry = peers.register(&"b".into(), life(1, 1), outbox()).unwrap();
        let error = entry.forward(ShardId(2), ToLeader::Ready).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("node b says something of shard 2")
        );
        assert!(events.try_iter().next().is_none());
    }
}
