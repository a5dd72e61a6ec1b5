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
    Endpoint,
    error::{LinkError, ListenError},
    frame::Frames,
    give,
    hello::{self, Purpose},
    outbox::Outbox,
    peers::Peers,
    session::Session,
};
use crate::snapshot::{Giver, NotGiven};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::link::listener";

/// Handshakes at a time. Others wait.
const HANDSHAKES: usize = 64;

/// The pause after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(200);

/// Accepts links from serving nodes.
#[derive(Debug)]
pub(crate) struct LinkListener {
    endpoint: Arc<Endpoint>,
    listener: TcpListener,
    /// Gives snapshots. `None`: this node gives none.
    giver: Option<Arc<Giver>>,
}

impl LinkListener {
    /// Listens on an address. Without certificates it must be a loopback address, unless `open`.
    ///
    /// # Errors
    ///
    /// If the address cannot be used, or other machines can reach it and nothing says who they are.
    pub(crate) async fn bind(
        endpoint: Arc<Endpoint>,
        address: SocketAddr,
        open: bool,
    ) -> Result<Self, ListenError> {
        let is_local = address.ip().to_canonical().is_loopback();
        if endpoint.setup.tls.is_none() && !is_local {
            if !open {
                return Err(ListenError::Exposed(address));
            }
            tracing::warn!(
                target: TARGET,
                %address,
                "open: every host that reaches this address can be a node; set tls in cluster",
            );
        }
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| ListenError::Unusable { address, source })?;
        Ok(Self {
            endpoint,
            listener,
            giver: None,
        })
    }

    /// Gives snapshots to the nodes that ask for them.
    #[must_use]
    pub(crate) fn giving(mut self, giver: Arc<Giver>) -> Self {
        self.giver = Some(giver);
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
                    let host = Host {
                        peers,
                        giver: self.giver.clone(),
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

/// What those that call can be given.
struct Host {
    peers: Arc<Peers>,
    giver: Option<Arc<Giver>>,
}

impl Endpoint {
    async fn accept(
        &self,
        stream: TcpStream,
        host: Host,
        permit: OwnedSemaphorePermit,
    ) -> LinkError {
        if let Err(error) = self.configure(&stream) {
            return LinkError::Broken(error);
        }
        let Some(tls) = &self.setup.tls else {
            return self.serve(stream, host, permit).await;
        };
        match hello::within(tls.accept(stream)).await {
            Ok(stream) => self.serve(stream, host, permit).await,
            Err(error) => error,
        }
    }

    async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite,
        host: Host,
        permit: OwnedSemaphorePermit,
    ) -> LinkError {
        let (reader, mut writer) = io::split(stream);
        let mut frames = Frames::new(reader, hello::LONGEST);
        let mut ours = self.side(None, Purpose::Link);
        let other = match hello::wait(&mut frames, &ours).await {
            Ok(other) => other,
            Err(error) => return error,
        };
        ours.to = Some(other.node.clone());
        if let Purpose::Snapshot(wanted) = other.purpose {
            let giving = async {
                ours.check(&other)?;
                let giver = host.giver.ok_or(NotGiven::Never)?;
                Ok::<_, LinkError>(giver.begin(wanted).await?)
            };
            return give::run(giving.await, (&ours, &other), &mut writer, permit).await;
        }
        let peers = host.peers;
        let outbox = Arc::new(Outbox::new(self.setup.most_waiting));
        let entered = ours.check(&other);
        let entered = entered.and_then(|()| peers.enter(&other.node, other.life, outbox.clone()));
        let refused = entered.as_ref().err().map(|it| it as _);
        if let Err(error) = hello::answer(&mut writer, &ours, refused).await {
            return error;
        }
        let entry = match entered {
            Ok(entry) => entry,
            Err(refused) => return refused.into(),
        };
        drop(permit);
        tracing::info!(target: TARGET, node = %other.node, "a node has made a link to this one");
        let session = Session {
            frames,
            writer,
            outbox: &outbox,
            clocks: &self.clocks,
            other: &other,
            silence: self.setup.silence,
        };
        session
            .run(|shard, message| entry.pass(shard, message))
            .await
    }
}

fn log(address: SocketAddr, error: &LinkError) {
    match error {
        LinkError::Closed
        | LinkError::Broken(_)
        | LinkError::Replaced
        | LinkError::Given(_)
        | LinkError::NotGiven(_) => {
            tracing::info!(target: TARGET, %address, %error, "a link from a node has ended");
        }
        error => tracing::warn!(target: TARGET, %address, %error, "a link from a node has ended"),
    }
}
