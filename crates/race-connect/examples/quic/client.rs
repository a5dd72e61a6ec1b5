//! The application: a client that connects by QUIC or by TLS over TCP, whichever answers first.

use std::{io, sync::Arc};

use quinn::crypto::rustls::QuicClientConfig;
use race_connect::{
    ConnectError, Connected, Destination, HappyEyeballs, refuse_self_connection,
    rustls::{ClientConfig, pki_types::ServerName},
    tokio::TokioTimer,
    v3::{Discovery, Lookup, Origin, Preferences, Protocols, Transport},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A connection of either kind. HTTP/3 speaks over the first, HTTP/2 over the second.
pub(crate) enum Connection {
    Quic(quinn::Connection),
    Tls(Box<TlsStream<TcpStream>>),
}

pub(crate) struct Client<L> {
    settings: HappyEyeballs,
    discovery: Discovery<L>,
    quic: quinn::Endpoint,
    tls: ClientConfig,
}

impl<L: Lookup> Client<L> {
    pub(crate) fn new(settings: HappyEyeballs, lookup: L, tls: ClientConfig) -> io::Result<Self> {
        let protocols = Protocols::new().quic(["h3"]).tcp(["h2"]);
        let preferences = Preferences::new().protocols(protocols);
        // A socket of IPv6 reaches IPv4 addresses, too, but not every system has IPv6.
        let any = [([0; 8], 0).into(), ([0; 4], 0).into()];
        let [v6, v4] = any.map(quinn::Endpoint::client);
        Ok(Self {
            settings,
            discovery: Discovery::new(lookup).preferences(preferences),
            quic: v6.or(v4)?,
            tls,
        })
    }

    pub(crate) async fn connect(
        &self,
        origin: &Origin,
    ) -> Result<Connected<Connection>, ConnectError> {
        let (settings, discovery) = (&self.settings, &self.discovery);
        let dial = |to| self.dial(to);
        let race = settings.race_endpoints(TokioTimer::new(), discovery, origin, dial);
        race.await
    }

    /// One attempt. The race drops it when another one wins.
    async fn dial(&self, to: Destination) -> io::Result<Connection> {
        let mut tls = self.tls.clone();
        tls.alpn_protocols = to.endpoint.alpn.to_vec(); // `h3` or `h2`
        let host = to.host().as_str();
        Ok(match to.endpoint.transport {
            Transport::Quic => {
                let tls = QuicClientConfig::try_from(tls).map_err(io::Error::other)?;
                let config = quinn::ClientConfig::new(Arc::new(tls));
                let connecting = self.quic.connect_with(config, to.address(), host);
                Connection::Quic(connecting.map_err(io::Error::other)?.await?)
            }
            Transport::Tcp => {
                let stream = TcpStream::connect(to.address()).await?;
                refuse_self_connection(&stream)?;
                to.progress(); // the next attempt waits for TLS
                let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
                let stream = TlsConnector::from(Arc::new(tls))
                    .connect(host, stream)
                    .await?;
                Connection::Tls(Box::new(stream))
            }
        })
    }
}
