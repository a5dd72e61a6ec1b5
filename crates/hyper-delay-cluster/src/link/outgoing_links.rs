//! The links to the other nodes.
//!
//! To those that lead shards, for the clients of this node; and to all others, so that a new leader
//! is reached at once, clocks are compared, and a link that does not work shows before it is needed.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use tokio::{
    io::{self, AsyncRead, AsyncWrite},
    runtime::Handle,
    sync::watch,
    task::AbortHandle,
    time,
};

use super::{
    LinkEndpoint, addresses::NodeAddresses, error::LinkError, frame::FrameReader, handshake,
    handshake::LinkPurpose, link_session::LinkSession, outbox::LinkOutbox,
};
use crate::{
    ShardId,
    forward::wire::ToServing,
    log::{Leader, Member, NodeName},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::link::links";

/// The first pause after a failed attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A link to a node that is removed, and leads nothing any more, ends after this time, so that a
/// leadership that comes back finds it, and requests in flight are answered.
const LINGER: Duration = Duration::from_secs(10);

/// An event of a link. Those of each node come in order.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// There is a link to a node.
    Linked(NodeName, Arc<LinkOutbox>),
    /// The link to a node is broken.
    Unlinked(NodeName),
    /// A message of a node about a shard.
    Message(NodeName, ShardId, ToServing),
}

/// Where a node is, if a link to it is wanted.
type WantedAddress = Option<Arc<str>>;

/// Keeps a link to each other node. Dropping it ends the links.
pub(crate) struct OutgoingLinks {
    endpoint: Arc<LinkEndpoint>,
    runtime: Handle,
    is_node: watch::Receiver<bool>,
    on_event: Arc<dyn Fn(LinkEvent) + Send + Sync>,
    addresses: NodeAddresses,
    nodes: BTreeMap<NodeName, (watch::Sender<WantedAddress>, AbortHandle)>,
}

impl OutgoingLinks {
    /// The links run on the current runtime, and begin once `is_node` is true: a second process of
    /// a node would take the place of the first one. `on_event` must not block.
    pub(crate) fn new(
        endpoint: Arc<LinkEndpoint>,
        is_node: watch::Receiver<bool>,
        on_event: impl Fn(LinkEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            endpoint,
            runtime: Handle::current(),
            is_node,
            on_event: Arc::new(on_event),
            addresses: NodeAddresses::default(),
            nodes: BTreeMap::new(),
        }
    }

    /// Sets the leader of a shard, as far as this node knows. While it is not known, the last one
    /// counts: it may lead again.
    pub(crate) fn set_leader(&mut self, shard: ShardId, leader: Option<&Leader>) {
        self.addresses.set_leader(shard, leader);
        self.reconcile();
    }

    /// The nodes of the cluster.
    pub(crate) fn set_members(&mut self, members: &[Member]) {
        self.addresses.set_members(members);
        self.reconcile();
    }

    /// Starts and ends links as needed.
    fn reconcile(&mut self) {
        let mut wanted = self.addresses.others(&self.endpoint.setup.node);
        self.endpoint
            .missing_links
            .retain(|node| wanted.contains_key(node));
        for (node, (sender, _)) in &self.nodes {
            let address = wanted.remove(node);
            sender.send_if_modified(|it| std::mem::replace(it, address.clone()) != address);
        }
        for (node, address) in wanted {
            let (sender, receiver) = watch::channel(Some(address));
            let link = OutgoingLink {
                endpoint: self.endpoint.clone(),
                node: node.clone(),
                wanted: receiver,
                on_event: self.on_event.clone(),
            };
            let mut is_node = self.is_node.clone();
            let task = self.runtime.spawn(async move {
                if is_node.wait_for(|it| *it).await.is_ok() {
                    link.maintain().await;
                }
            });
            self.nodes.insert(node, (sender, task.abort_handle()));
        }
    }
}

impl Drop for OutgoingLinks {
    fn drop(&mut self) {
        for (_, task) in self.nodes.values() {
            task.abort();
        }
    }
}

impl fmt::Debug for OutgoingLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OutgoingLinks");
        shown
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// The link to one node.
struct OutgoingLink {
    endpoint: Arc<LinkEndpoint>,
    node: NodeName,
    wanted: watch::Receiver<WantedAddress>,
    on_event: Arc<dyn Fn(LinkEvent) + Send + Sync>,
}

impl OutgoingLink {
    /// Keeps the link while it is wanted, until the future is dropped.
    async fn maintain(mut self) {
        let mut pause = FIRST_PAUSE;
        let mut reported = String::new();
        loop {
            let address = self.wanted.borrow_and_update().clone();
            let Some(address) = address else {
                self.endpoint.missing_links.remove(&self.node);
                if self.wanted.changed().await.is_err() {
                    return;
                }
                continue;
            };
            self.endpoint.missing_links.add_wanted(&self.node);
            let mut wanted = self.wanted.clone();
            let ended = tokio::select! {
                ended = self.link(&address) => ended,
                () = until_unwanted(&mut wanted) => continue,
            };
            let (node, report) = (&self.node, ended.to_string());
            if reported != report {
                tracing::warn!(
                    target: TARGET,
                    %node,
                    error = %report,
                    "there is no link to a node",
                );
            }
            // The same reason is reported once, until there was a link.
            reported = report;
            if let LinkEnd::After(_) = ended {
                pause = FIRST_PAUSE;
                reported.clear();
            }
            let (LinkEnd::Before(error) | LinkEnd::After(error)) = ended;
            self.endpoint.missing_links.set_failure(node, &error);
            let jittered = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
            let _ = time::timeout(jittered, self.wanted.changed()).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    async fn link(&self, address: &Arc<str>) -> LinkEnd {
        let result = match self.endpoint.connect(address).await {
            Err(error) => Err(error),
            Ok(stream) => match &self.endpoint.setup.tls {
                None => self.serve(stream).await,
                Some(tls) => match handshake::with_timeout(tls.connect(address, stream)).await {
                    Err(error) => Err(error),
                    Ok(stream) => self.serve(stream).await,
                },
            },
        };
        match result {
            Ok(error) => LinkEnd::After(error),
            Err(error) => LinkEnd::Before(error),
        }
    }

    /// Returns why the link has ended, or why there was none.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite) -> Result<LinkError, LinkError> {
        let endpoint = &self.endpoint;
        let (reader, mut writer) = io::split(stream);
        let mut frames = FrameReader::new(reader, handshake::LONGEST);
        let ours = endpoint.side(Some(self.node.clone()), LinkPurpose::Link);
        let other = handshake::call(&mut frames, &mut writer, &ours).await?;
        let outbox = Arc::new(LinkOutbox::new(endpoint.setup.most_waiting));
        tracing::info!(target: TARGET, node = %self.node, "this node has a link to a node");
        endpoint.missing_links.remove(&self.node);
        let _linked = LinkGuard::new(self, outbox.clone());
        let session = LinkSession {
            frames,
            writer,
            outbox: &outbox,
            clocks: &endpoint.clocks,
            other: &other,
            silence: endpoint.setup.silence,
        };
        let take = |shard: ShardId, message| {
            if shard.0 >= endpoint.setup.charter.shards {
                return Err(LinkError::NoShard {
                    node: self.node.clone(),
                    shard: shard.0,
                });
            }
            (self.on_event)(LinkEvent::Message(self.node.clone(), shard, message));
            Ok(())
        };
        Ok(session.run(take).await)
    }
}

/// Resolves when a link was not wanted for some time. Cancel safe.
async fn until_unwanted(wanted: &mut watch::Receiver<WantedAddress>) {
    loop {
        if wanted.wait_for(Option::is_none).await.is_err() {
            return;
        }
        if time::timeout(LINGER, wanted.wait_for(Option::is_some))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// Why there is no link.
enum LinkEnd {
    /// There was none.
    Before(LinkError),
    /// There was one.
    After(LinkError),
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Before(error) | Self::After(error)) = self;
        error.fmt(f)
    }
}

/// Reports a link, and its end when it is dropped.
struct LinkGuard<'a>(&'a OutgoingLink);

impl<'a> LinkGuard<'a> {
    fn new(link: &'a OutgoingLink, outbox: Arc<LinkOutbox>) -> Self {
        (link.on_event)(LinkEvent::Linked(link.node.clone(), outbox));
        Self(link)
    }
}

impl Drop for LinkGuard<'_> {
    fn drop(&mut self) {
        (self.0.on_event)(LinkEvent::Unlinked(self.0.node.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_link_ends_some_time_after_it_is_not_wanted_any_more() {
        let address = || Some(Arc::from("b:1"));
        let (sender, mut receiver) = watch::channel(address());
        let is_over = tokio::spawn(async move { until_unwanted(&mut receiver).await });
        for wanted in [None, address(), None] {
            time::sleep(LINGER / 2).await;
            sender.send_replace(wanted);
        }
        time::sleep(LINGER - Duration::from_secs(1)).await;
        assert!(!is_over.is_finished());
        time::sleep(Duration::from_secs(2)).await;
        assert!(is_over.is_finished());
    }
}
