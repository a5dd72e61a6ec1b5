//! Servers with TLS, clients that trust them, and hosts with given addresses.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{Stream, stream};
use race_connect::{
    Answer, Destination, Dial, Resolve,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivatePkcs8KeyDer},
    },
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream},
    net::TcpListener,
    time::{Instant, sleep},
};
use tokio_rustls::TlsAcceptor;

/// A certificate, its server, and a client that trusts it.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) server: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl Identity {
    /// A certificate for these names, and a server that speaks these protocols.
    pub(crate) fn new(names: &[&str], protocols: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|it| (*it).to_owned()).collect();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let certificate = cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let mut server = builder
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
        server.alpn_protocols = protocols.iter().map(|it| Vec::from(*it)).collect();
        Self {
            server: Arc::new(server),
            certificate,
        }
    }

    /// A client that trusts these certificates and speaks HTTP.
    pub(crate) fn client(trusted: &[&Self]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for identity in trusted {
            roots.add(identity.certificate.clone()).unwrap();
        }
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let mut client = builder
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(client)
    }

    /// Starts a server on loopback that echoes.
    pub(crate) async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let config = Arc::clone(&self.server);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(echo(Arc::clone(&config), stream));
            }
        });
        address
    }
}

async fn echo(config: Arc<ServerConfig>, stream: impl AsyncRead + AsyncWrite + Unpin) {
    // A client that does not trust the certificate ends the handshake.
    if let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await {
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            stream.write_all(&byte).await.unwrap();
            stream.flush().await.unwrap();
        }
    }
}

/// Whether the peer echoes a byte.
pub(crate) async fn echoes(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> bool {
    let mut byte = [0];
    stream.write_all(&[7]).await.unwrap();
    stream.flush().await.unwrap();
    stream.read_exact(&mut byte).await.unwrap();
    byte == [7]
}

/// Resolves every name to these addresses.
#[derive(Clone, Debug)]
pub(crate) struct Addresses(pub(crate) Vec<SocketAddr>);

impl Resolve for Addresses {
    fn resolve(&self, _: &str, _: u16) -> impl Stream<Item = Answer> + Send {
        stream::iter([Answer::Addresses(self.0.clone())])
    }
}

/// What a peer does once TCP has connected.
#[derive(Clone)]
pub(crate) enum Peer {
    /// It never answers.
    Silent,
    Echoes(Identity),
}

/// Connections in memory: the peers of addresses, and how long TCP takes.
#[derive(Clone, Default)]
pub(crate) struct Net {
    peers: Vec<(SocketAddr, Duration, Option<Peer>)>,
    starts: Arc<Mutex<Vec<(SocketAddr, Duration)>>>,
    began: Option<Instant>,
}

impl Net {
    pub(crate) fn new() -> Self {
        Self {
            began: Some(Instant::now()),
            ..Self::default()
        }
    }

    pub(crate) fn peer(mut self, address: &str, millis: u64, peer: Peer) -> Self {
        let latency = Duration::from_millis(millis);
        self.peers
            .push((address.parse().unwrap(), latency, Some(peer)));
        self
    }

    pub(crate) fn resolver(&self) -> Addresses {
        Addresses(self.peers.iter().map(|(address, ..)| *address).collect())
    }

    /// The addresses of the attempts, and the milliseconds of their starts.
    pub(crate) fn starts(&self) -> Vec<(String, u128)> {
        let starts = self.starts.lock().unwrap();
        let starts = starts.iter();
        starts
            .map(|(address, at)| (address.ip().to_string(), at.as_millis()))
            .collect()
    }
}

impl Dial for Net {
    type Connection = DuplexStream;

    async fn dial(&self, to: Destination) -> io::Result<DuplexStream> {
        let at = self.began.unwrap().elapsed();
        self.starts.lock().unwrap().push((to.address(), at));
        let peer = self.peers.iter().find(|it| it.0.ip() == to.address().ip());
        let (_, latency, peer) = peer.cloned().unwrap();
        sleep(latency).await;
        let (client, server) = tokio::io::duplex(1_024);
        tokio::spawn(async move {
            match peer {
                Some(Peer::Echoes(identity)) => echo(identity.server, server).await,
                _ => {
                    let _open = server;
                    std::future::pending::<()>().await;
                }
            }
        });
        Ok(client)
    }
}
