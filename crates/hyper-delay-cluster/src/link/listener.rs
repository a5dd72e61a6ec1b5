//! Accepts links from serving nodes.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{self, AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time,
};

use super::{
    LinkEndpoint,
    error::{LinkError, LinkListenError},
    frame::FrameReader,
    handshake::{self, LinkPurpose},
    link_session::LinkSession,
    outbox::LinkOutbox,
    peers::Peers,
    send_snapshot,
};
use crate::snapshot::{SnapshotProvider, SnapshotUnavailable};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::link::listener";

/// Handshakes at a time. Others wait.
const HANDSHAKES: usize = 64;

/// The pause after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(200);

/// Accepts links from serving nodes.
#[derive(Debug)]
pub(crate) struct LinkListener {
    endpoint: Arc<LinkEndpoint>,
    listener: TcpListener,
    /// Provides snapshots. `None`: this node sends none.
    snapshots: Option<Arc<SnapshotProvider>>,
}

impl LinkListener {
    /// Listens on an address. Without certificates it must be a loopback address, unless `open`.
    ///
    /// # Errors
    ///
    /// If the address cannot be used, or other machines can reach it without certificates.
    pub(crate) async fn bind(
        endpoint: Arc<LinkEndpoint>,
        address: SocketAddr,
        open: bool,
    ) -> Result<Self, LinkListenError> {
        let is_local = address.ip().to_canonical().is_loopback();
        if endpoint.setup.tls.is_none() && !is_local {
            if !open {
                return Err(LinkListenError::Exposed(address));
            }
            tracing::warn!(
                target: TARGET,
                %address,
                "open: every host that reaches this address can be a node; set tls in cluster",
            );
        }
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| LinkListenError::Unusable { address, source })?;
        Ok(Self {
            endpoint,
            listener,
            snapshots: None,
        })
    }

    /// Sends snapshots to the nodes that ask for them.
    #[must_use]
    pub(crate) fn with_snapshots(mut self, provider: Arc<SnapshotProvider>) -> Self {
        self.snapshots = Some(provider);
        self
    }

    /// Returns the address that it listens on.
    #[cfg(test)]
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts links until the future is dropped, which ends them.
    pub(crate) async fn run(self, peers: Arc<Peers>) {
        let mut links = JoinSet::new();
        let clocks = self.endpoint.clocks.clone();
        links.spawn(async move { clocks.watch().await });
        let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
        loop {
            let permit = handshakes.clone().acquire_owned().await;
            let permit = permit.expect("the semaphore is never closed");
            while links.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let (endpoint, peers) = (self.endpoint.clone(), peers.clone());
                    let host = LinkServices {
                        peers,
                        snapshots: self.snapshots.clone(),
                    };
                    links.spawn(async move {
                        let error = endpoint.accept(stream, host, permit).await;
                        log(address, &error);
                    });
                }
                Err(error) => {
                    tracing::warn!(target: TARGET, %error, "a link could not be accepted");
                    time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// The services for nodes that connect.
struct LinkServices {
    peers: Arc<Peers>,
    snapshots: Option<Arc<SnapshotProvider>>,
}

impl LinkEndpoint {
    async fn accept(
        &self,
        stream: TcpStream,
        host: LinkServices,
        permit: OwnedSemaphorePermit,
    ) -> LinkError {
        if let Err(error) = self.configure(&stream) {
            return LinkError::Broken(error);
        }
        let Some(tls) = &self.setup.tls else {
            return self.serve(stream, host, permit).await;
        };
        match handshake::with_timeout(tls.accept(stream)).await {
            Ok(stream) => self.serve(stream, host, permit).await,
            Err(error) => error,
        }
    }

    async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite,
        host: LinkServices,
        permit: OwnedSemaphorePermit,
    ) -> LinkError {
        let (reader, mut writer) = io::split(stream);
        let mut frames = FrameReader::new(reader, handshake::LONGEST);
        let mut ours = self.side(None, LinkPurpose::Link);
        let other = match handshake::wait(&mut frames, &ours).await {
            Ok(other) => other,
            Err(error) => return error,
        };
        ours.to = Some(other.node.clone());
        if let LinkPurpose::Snapshot(wanted) = other.purpose {
            let giving = async {
                ours.check(&other)?;
                let provider = host.snapshots.ok_or(SnapshotUnavailable::Never)?;
                Ok::<_, LinkError>(provider.open(wanted).await?)
            };
            return send_snapshot::run(giving.await, (&ours, &other), &mut writer, permit).await;
        }
        let peers = host.peers;
        let outbox = Arc::new(LinkOutbox::new(self.setup.most_waiting));
        let entered = ours.check(&other);
        let entered =
            entered.and_then(|()| peers.register(&other.node, other.incarnation, outbox.clone()));
        let refused = entered.as_ref().err().map(|it| it as _);
        if let Err(error) = handshake::answer(&mut writer, &ours, refused).await {
            return error;
        }
        let entry = match entered {
            Ok(entry) => entry,
            Err(refused) => return refused.into(),
        };
        drop(permit);
        tracing::info!(target: TARGET, node = %other.node, "a node has made a link to this one");
        let session = LinkSession {
            frames,
            writer,
            outbox: &outbox,
            clocks: &self.clocks,
            other: &other,
            silence: self.setup.silence,
        };
        session
            .run(|shard, message| entry.forward(shard, message))
            .await
    }
}

fn log(address: SocketAddr, error: &LinkError) {
    match error {
        LinkError::Closed
        | LinkError::Broken(_)
        | LinkError::Replaced
        | LinkError::SnapshotSent(_)
        | LinkError::SnapshotUnavailable(_) => {
            tracing::info!(target: TARGET, %address, %error, "a link from a node has ended");
        }
        error => tracing::warn!(target: TARGET, %address, %error, "a link from a node has ended"),
    }
}
