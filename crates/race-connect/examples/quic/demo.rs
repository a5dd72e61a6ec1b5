//! Two sites on loopback and the resolver that knows them. UDP to one of them gets no answer.

use std::{collections::HashMap, future::pending, io, net::Ipv4Addr};

use race_connect::{
    rustls::ClientConfig,
    v3::{Lookup, Name, Query, RecordType, Records, ServiceRecord},
};
use tokio::net::{TcpListener, UdpSocket};

use crate::servers::{Error, certified, serve_quic, serve_tls};

/// A site that QUIC reaches.
pub(crate) const OPEN: &str = "open.example";

/// A site that only TCP reaches: what comes over UDP is not read.
pub(crate) const SILENT: &str = "silent.example";

/// The resolver: an HTTPS record for each site, and an IPv4 address.
pub(crate) struct Resolver {
    ports: HashMap<Name, u16>,
}

impl Lookup for Resolver {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        Ok(match (query.kind, self.ports.get(&query.name)) {
            (RecordType::Https, Some(port)) => {
                let record = ServiceRecord::service(1, ".").alpn(["h3", "h2"]);
                Records::Https(vec![record.port(*port)])
            }
            (RecordType::A, Some(_)) => Records::A(vec![Ipv4Addr::LOCALHOST]),
            (kind, _) => kind.none(),
        })
    }
}

/// Starts the sites. Returns their resolver, and a configuration that trusts them.
pub(crate) async fn start() -> Result<(Resolver, ClientConfig), Error> {
    let (server, client) = certified(&[OPEN, SILENT])?;

    let (open, tcp, udp) = sockets().await?;
    serve_tls(tcp, server.clone());
    serve_quic(udp, server.clone())?;

    let (silent, tcp, udp) = sockets().await?;
    serve_tls(tcp, server);
    tokio::spawn(async move {
        let _never_read = udp;
        pending::<()>().await;
    });

    let ports = HashMap::from([(Name::new(OPEN), open), (Name::new(SILENT), silent)]);
    Ok((Resolver { ports }, client))
}

/// Opens a port for TCP and UDP.
async fn sockets() -> io::Result<(u16, TcpListener, UdpSocket)> {
    loop {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = tcp.local_addr()?;
        match UdpSocket::bind(address).await {
            Ok(udp) => return Ok((address.port(), tcp, udp)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
}
