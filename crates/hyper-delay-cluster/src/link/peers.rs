//! The links from serving nodes, as the shards of this node know them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    error::LinkError,
    hello::{Life, Refused},
    outbox::{End, Outbox},
};
use crate::{
    ShardId,
    forward::wire::{ToLeader, ToServing},
    log::NodeName,
    shard::{Event, PeerId},
};

/// The links from serving nodes. A link has a number that is never used again; 0 is the forwarder
/// of this node, which needs no link.
pub(crate) struct Peers {
    shards: u16,
    tell: Box<dyn Fn(ShardId, Event) + Send + Sync>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The last number.
    last: u64,
    links: BTreeMap<PeerId, Peer>,
    nodes: BTreeMap<NodeName, (Life, PeerId)>,
}

#[derive(Debug, Clone)]
struct Peer {
    outbox: Arc<Outbox>,
    gate: Arc<Gate>,
}

/// Whether messages of a link are still passed on. Held while one is: so none comes after the news
/// that the link is gone.
#[derive(Debug)]
struct Gate(Mutex<bool>);

/// A link, until it is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    peers: Arc<Peers>,
    node: NodeName,
    id: PeerId,
    gate: Arc<Gate>,
}

impl Peers {
    /// `tell` passes an event to the thread of a shard. It must not block.
    pub(crate) fn new(
        shards: u16,
        tell: impl Fn(ShardId, Event) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            shards,
            tell: Box::new(tell),
            inner: Mutex::default(),
        })
    }

    /// Sends messages of a shard, in their order for each link. A message is lost if the link is
    /// gone. Never blocks.
    pub(crate) fn send(&self, shard: ShardId, told: &[(PeerId, ToServing)]) {
        let inner = self.lock();
        let outbox = |peer: &PeerId| inner.links.get(peer).map(|link| &link.outbox);
        for (peer, message) in told {
            if let Some(outbox) = outbox(peer) {
                outbox.push(shard, message);
            }
        }
        for (peer, _) in told {
            if let Some(outbox) = outbox(peer) {
                outbox.flush();
            }
        }
    }

    /// A node has a link. An older one of the same node ends: the shards hear so before anything of
    /// the new one.
    pub(super) fn enter(
        self: &Arc<Self>,
        node: &NodeName,
        life: Life,
        outbox: Arc<Outbox>,
    ) -> Result<Entry, Refused> {
        let mut inner = self.lock();
        if let Some((older, id)) = inner.nodes.get(node).copied() {
            if older > life {
                return Err(Refused::Older(node.clone()));
            }
            if let Some(link) = inner.links.remove(&id) {
                link.outbox.end(End::Replaced);
                self.close(&link.gate, id);
            }
        }
        inner.last += 1;
        let id = PeerId(inner.last);
        let gate = Arc::new(Gate(Mutex::new(true)));
        let link = Peer {
            outbox,
            gate: gate.clone(),
        };
        inner.links.insert(id, link);
        inner.nodes.insert(node.clone(), (life, id));
        Ok(Entry {
            peers: self.clone(),
            node: node.clone(),
            id,
            gate,
        })
    }

    fn close(&self, gate: &Gate, id: PeerId) {
        let mut is_open = gate.lock();
        if std::mem::replace(&mut *is_open, false) {
            for shard in (0..self.shards).map(ShardId) {
                (self.tell)(shard, Event::PeerIsGone(id));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Passes a message to its shard.
    pub(super) fn pass(&self, shard: ShardId, message: ToLeader) -> Result<(), LinkError> {
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
        (self.peers.tell)(shard, Event::Peer(self.id, message));
        Ok(())
    }
}

impl Drop for Entry {
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

impl Gate {
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
        let (told, events) = channel();
        let peers = Peers::new(2, move |shard, event| {
            let event = match event {
                Event::Peer(peer, ToLeader::Opened(consumer)) => format!("{peer:?} {consumer}"),
                Event::PeerIsGone(peer) => format!("{peer:?} gone"),
                other => panic!("{other:?}"),
            };
            told.send(format!("{} {event}", shard.0)).unwrap();
        });
        (peers, events)
    }

    fn life(process: u64, link: u64) -> Life {
        Life { process, link }
    }

    fn outbox() -> Arc<Outbox> {
        Arc::new(Outbox::new(1_000))
    }

    #[test]
    fn a_newer_link_of_a_node_ends_the_older_one_first() {
        let (peers, events) = peers();
        let node = NodeName::from("b");
        let old = peers.enter(&node, life(7, 1), outbox()).unwrap();
        old.pass(ShardId(1), ToLeader::Opened(5)).unwrap();
        let new = peers.enter(&node, life(7, 2), outbox()).unwrap();
        assert!(old.pass(ShardId(1), ToLeader::Opened(6)).is_err());
        new.pass(ShardId(0), ToLeader::Opened(7)).unwrap();
        drop(old);
        new.pass(ShardId(0), ToLeader::Opened(8)).unwrap();
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
        let new = peers.enter(&node, life(8, 1), outbox()).unwrap();
        let refused = peers.enter(&node, life(7, 2), outbox()).unwrap_err();
        assert_eq!(refused, Refused::Older(node.clone()));
        peers.enter(&"c".into(), life(1, 1), outbox()).unwrap();
        drop(new);
        peers.enter(&node, life(7, 2), outbox()).unwrap();
    }

    #[test]
    fn a_message_of_a_shard_that_does_not_exist_is_an_error() {
        let (peers, events) = peers();
        let entry = peers.enter(&"b".into(), life(1, 1), outbox()).unwrap();
        let error = entry.pass(ShardId(2), ToLeader::Ready).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("node b says something of shard 2")
        );
        assert!(events.try_iter().next().is_none());
    }
}
