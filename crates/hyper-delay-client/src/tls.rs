//! TLS: whom the client trusts, and who it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The protocol name that the client offers (ALPN).
const PROTOCOL: &[u8] = b"hyper-delay";

/// The TLS options of a client, for [`Builder::tls`](crate::Builder::tls).
///
/// By default the client trusts the certificate authorities of the system, has no certificate of
/// its own, and expects a certificate for the host of the address. Files are in PEM and are read
/// for each connection attempt, so that renewed files need no restart.
///
/// ```no_run
/// # async fn example() -> Result<(), hyper_delay_client::ConnectError> {
/// use hyper_delay_client::{Client, Tls};
///
/// let tls = Tls::new()
///     .ca("/etc/hyper-delay/ca.pem")
///     .client_certificate("/etc/hyper-delay/client.pem", "/etc/hyper-delay/client.key");
/// let client = Client::builder("tasks.internal:7000").tls(tls).connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "the options do nothing until a builder has them"]
pub struct Tls {
    ca: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
}

impl Tls {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts only the certificate authorities in this file. A self-signed certificate of the
    /// server is its own authority.
    pub fn ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca = Some(file.into());
        self
    }

    /// Sets the client's certificate, with those of its authorities if the server needs them, and
    /// its private key.
    pub fn client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// Sets the name or the address that the certificate of the server must have. Default: the host
    /// of the address.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// Completes the handshake on a connection to `address`, a host and a port, for a program that
    /// speaks the protocol itself. Bound its time.
    ///
    /// # Errors
    ///
    /// A file cannot be used, or the handshake failed.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the connection is closed.
    pub async fn handshake(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, TlsError> {
        self.connect(address, stream).await
    }

    /// Completes the handshake on a new connection to `address`.
    pub(crate) async fn connect(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, TlsError> {
        let name = self.server_name.as_deref().unwrap_or_else(|| host(address));
        let name = ServerName::try_from(name.to_owned()).map_err(|_| TlsError::ServerName {
            name: name.to_owned(),
        })?;
        let files = self.clone();
        let reading = tokio::task::spawn_blocking(move || files.config());
        let config = match reading.await {
            Ok(config) => config?,
            Err(error) => return Err(io::Error::other(error).into()),
        };
        let connector = TlsConnector::from(Arc::new(config));
        Ok(connector.connect(name, stream).await?)
    }

    fn config(&self) -> Result<ClientConfig, TlsError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has cipher suites for all versions")
            .with_root_certificates(self.roots()?);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let read = read(key)?;
                // The library's errors quote the file.
                let private = PrivateKeyDer::from_pem_slice(&read)
                    .map_err(|_| TlsError::bad(key, "it has no whole, unencrypted private key"))?;
                builder
                    .with_client_auth_cert(chain, private)
                    .map_err(|error| TlsError::bad(key, error.to_string()))?
            }
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(config)
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = &self.ca {
            for authority in certificates(file)? {
                roots
                    .add(authority)
                    .map_err(|error| TlsError::bad(file, error.to_string()))?;
            }
            return Ok(roots);
        }
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let errors = found.errors.iter().map(ToString::to_string);
            return Err(TlsError::NoAuthorities {
                reason: errors.collect::<Vec<_>>().join(", "),
            });
        }
        Ok(roots)
    }
}

/// The host of `host:port`, without the brackets of an IPv6 address.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(file).map_err(|source| TlsError::Unreadable {
        file: file.to_owned(),
        source,
    })
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(TlsError::bad(file, "it has no whole certificate in PEM")),
    }
}

/// Why there is no TLS connection. No message contains a part of a key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {file:?}")]
    #[non_exhaustive]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file has no usable content, or a key does not belong to its certificate.
    #[error("cannot use {file:?}: {reason}")]
    #[non_exhaustive]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The system has no certificate authorities.
    #[error("this system has no certificate authorities ({reason}); name a file of the server's")]
    #[non_exhaustive]
    NoAuthorities {
        /// The errors of the system.
        reason: String,
    },
    /// No certificate can have this name.
    #[error("{name:?} is neither a host name nor an address; set the name in the certificate")]
    #[non_exhaustive]
    ServerName {
        /// The name.
        name: String,
    },
    /// The server does not speak TLS.
    #[error("the server does not speak TLS; connect without, or give the port that does")]
    NotTls,
    /// The certificate of the server is that of an authority.
    #[error(
        "the certificate of the server is that of an authority (CA:TRUE), which vouches for others \
         and not for a server; give the server one with CA:FALSE"
    )]
    AuthorityAsServer,
    /// The handshake failed: the server's certificate is not trusted, or the server does not accept
    /// the client's.
    #[error("the handshake failed")]
    Handshake(#[source] io::Error),
}

impl TlsError {
    fn bad(file: &Path, reason: impl Into<String>) -> Self {
        Self::Unusable {
            file: file.to_owned(),
            reason: reason.into(),
        }
    }

    /// Returns whether an error of a connection is one of TLS. A server can refuse the client's
    /// certificate after the handshake.
    pub(crate) fn is_in(error: &io::Error) -> bool {
        error
            .get_ref()
            .is_some_and(|inner| inner.is::<rustls::Error>())
    }
}

impl From<io::Error> for TlsError {
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(rustls::Error::InvalidMessage(_)) => Self::NotTls,
            Some(rustls::Error::InvalidCertificate(error)) if is_authority(error) => {
                Self::AuthorityAsServer
            }
            _ => Self::Handshake(error),
        }
    }
}

/// Whether a certificate was refused because it is one of an authority.
fn is_authority(error: &CertificateError) -> bool {
    // The type of this error is in a crate of which rustls can have another version.
    matches!(error, CertificateError::Other(error) if error.to_string() == "CaUsedAsEndEntity")
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn the_host_of_an_address_has_no_port_and_no_brackets() {
        for (address, expected) in [
            ("db.internal:7000", "db.internal"),
            ("127.0.0.1:7000", "127.0.0.1"),
            ("[::1]:7000", "::1"),
        ] {
            assert_eq!(host(address), expected);
        }
    }
}
