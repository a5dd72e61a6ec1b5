//! TLS between nodes: both sides show a certificate that the authority of the cluster has signed.

use std::{path::PathBuf, sync::Arc};

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::error::LinkError;
use hyper_delay_config::TlsFiles;
use hyper_delay_server::tls::{self, OwnCertificate, TlsError};

/// The files of a node, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTlsFiles {
    /// Its certificate, for servers and clients, with the name of the host of `advertise`.
    pub(crate) cert: PathBuf,
    /// The key of it.
    pub(crate) key: PathBuf,
    /// The certificates of the authority that signs those of all nodes, and of nothing else.
    pub(crate) ca: PathBuf,
}

/// The TLS configuration of links.
#[derive(Clone)]
pub struct LinkTls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    own: Arc<OwnCertificate>,
}

impl LinkTls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// If one cannot be read or used, or they do not belong together.
    pub fn load(files: &LinkTlsFiles) -> Result<Self, TlsError> {
        let LinkTlsFiles { cert, key, ca } = files.clone();
        let files = TlsFiles {
            cert,
            key,
            client_ca: Some(ca),
        };
        let (server, client, own) = tls::load_for_nodes(&files)?;
        Ok(Self {
            acceptor: Arc::new(server).into(),
            connector: Arc::new(client).into(),
            own: Arc::new(own),
        })
    }

    /// Returns why nodes with the same `ca` refuse the certificate of this node, which they reach at
    /// this address.
    #[must_use]
    pub fn trouble(&self, advertise: &str) -> Option<String> {
        let host = host(advertise).unwrap_or(advertise);
        let why = match ServerName::try_from(host.to_owned()) {
            Ok(name) => self.own.refused(&name)?,
            Err(_) => "no certificate can name that host".to_owned(),
        };
        Some(format!(
            "other nodes refuse the certificate in cluster.tls.cert for {host}, the host of \
             `advertise`: {why}; give one that `ca` has signed, that is valid now, for servers and \
             clients, and names this host"
        ))
    }

    pub(super) async fn accept(
        &self,
        stream: TcpStream,
    ) -> Result<server::TlsStream<TcpStream>, LinkError> {
        self.acceptor.accept(stream).await.map_err(LinkError::Tls)
    }

    pub(super) async fn connect(
        &self,
        address: &Arc<str>,
        stream: TcpStream,
    ) -> Result<client::TlsStream<TcpStream>, LinkError> {
        let host = host(address).and_then(|host| ServerName::try_from(host.to_owned()).ok());
        let host = host.ok_or_else(|| LinkError::NoHost(address.clone()))?;
        let connecting = self.connector.connect(host, stream);
        connecting.await.map_err(LinkError::Tls)
    }
}

impl std::fmt::Debug for LinkTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkTls").finish_non_exhaustive()
    }
}

/// Returns the host of `host:port`, without the brackets of an IPv6 address.
fn host(address: &str) -> Option<&str> {
    let (host, _) = address.rsplit_once(':')?;
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    Some(inner.unwrap_or(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_has_no_port_and_no_brackets() {
        for (address, expected) in [
            ("a.internal:7002", Some("a.internal")),
            ("10.0.0.1:7002", Some("10.0.0.1")),
            ("[::1]:7002", Some("::1")),
            ("a.internal", None),
        ] {
            assert_eq!(host(address), expected, "{address}");
        }
    }
}
