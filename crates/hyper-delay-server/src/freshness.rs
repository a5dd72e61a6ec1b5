//! Whether what is read contains everything that was acknowledged before.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::replica_events::{ReplicaEvent, ReplicaEventSender};
use hyper_delay_protocol::{Code, Refusal};

/// Waits until the store may be read.
///
/// A single node writes to the store before it acknowledges. The replicas of a cluster's node
/// follow the leaders of the shards, so it asks them first how far they are.
#[derive(Debug, Clone, Default)]
pub struct Freshness {
    /// Leads to the forwarder. `None`: the store is always fresh.
    forwarder: Option<ReplicaEventSender>,
}

impl Freshness {
    /// That of replicas, which the thread behind `events` knows.
    #[must_use]
    pub const fn of_replicas(events: ReplicaEventSender) -> Self {
        Self {
            forwarder: Some(events),
        }
    }

    /// Returns the sender of their events, if the store is of replicas, which other nodes have, too.
    pub(crate) const fn replicas(&self) -> Option<&ReplicaEventSender> {
        self.forwarder.as_ref()
    }

    /// Waits until the tasks of a route, or of all, can be read.
    ///
    /// # Errors
    ///
    /// If that is not known in time.
    pub(crate) async fn wait(&self, route: Option<Arc<str>>) -> Result<(), Refusal> {
        let Some(events) = &self.forwarder else {
            return Ok(());
        };
        let (sender, received) = oneshot::channel();
        let is_sent = events.send(ReplicaEvent::Fresh(route, sender)).is_ok();
        let answer = if is_sent { received.await.ok() } else { None };
        answer.unwrap_or_else(|| {
            let message = "the server is ending: ask another node";
            Err(Refusal::new(Code::Unavailable, message))
        })
    }
}
