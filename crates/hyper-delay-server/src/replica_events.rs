//! Events about the replicas of a node of a cluster. A single server has no sender for them.

use std::{
    fmt,
    sync::{Arc, mpsc::Sender},
};

use tokio::sync::oneshot;

use crate::driver::ThreadEnded;
use hyper_delay_protocol::Refusal;
use hyper_delay_store::StoreError;

/// An event about the replicas of this node, for the forwarder of its cluster.
#[derive(Debug)]
pub enum ReplicaEvent {
    /// Asks for an answer when the replicas of this node contain all that was acknowledged before,
    /// of the shard of a route, or of all. The error says why that is not known.
    Fresh(Option<Arc<str>>, oneshot::Sender<Result<(), Refusal>>),
    /// The content of this revision cannot be read from the replica of this node.
    Damaged(u64, StoreError),
}

/// Sends events about replicas to the forwarder.
#[derive(Clone)]
pub struct ReplicaEventSender(Arc<dyn Fn(ReplicaEvent) -> bool + Send + Sync>);

impl ReplicaEventSender {
    /// Sends each event as a message on a channel. If it is the channel of the
    /// [`EventSender`](crate::driver::EventSender), the events of both arrive in the order in which
    /// they were sent.
    pub fn new<M: Send + 'static>(channel: Sender<M>, message: fn(ReplicaEvent) -> M) -> Self {
        Self(Arc::new(move |event| channel.send(message(event)).is_ok()))
    }

    /// Sends an event.
    ///
    /// # Errors
    ///
    /// If the thread of the forwarder has ended.
    pub(crate) fn send(&self, event: ReplicaEvent) -> Result<(), ThreadEnded> {
        (self.0)(event).then_some(()).ok_or(ThreadEnded)
    }
}

impl fmt::Debug for ReplicaEventSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicaEventSender").finish_non_exhaustive()
    }
}
