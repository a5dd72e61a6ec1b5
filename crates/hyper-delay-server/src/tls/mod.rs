//! TLS for connections: the certificate, its key, and the authorities of client certificates.
//!
//! [`reload`](crate::reload) reads the files. A set of files is used only if it is valid as a
//! whole. Each connection keeps what was in force when it was accepted.

mod certificate_names;
mod error;
mod material;
mod validity;

use std::sync::Arc;

use rustls::ServerConfig;

pub(crate) use certificate_names::client_certificate_names;
pub use error::TlsError;
pub use material::OwnCertificate;
pub(crate) use material::TlsStamp;

use hyper_delay_config::TlsFiles;
use material::Material;
use validity::Validity;

/// The protocol name that clients may offer (ALPN). A client that offers other names only, such as
/// a browser, is refused.
const PROTOCOL: &[u8] = b"hyper-delay";

/// The TLS of new connections.
#[derive(Debug, Clone)]
pub(crate) struct ServerTls {
    pub(crate) config: Arc<ServerConfig>,
    /// `None` if it cannot be read.
    pub(crate) validity: Option<Validity>,
}

impl ServerTls {
    /// When the certificate expires, in Unix seconds.
    pub(crate) fn expiry(&self) -> Option<i64> {
        Some(self.validity?.until())
    }
}

type LoadedTls = (Result<Option<ServerTls>, TlsError>, Option<TlsStamp>);

/// Returns the same for the HTTP listener, whose clients offer the name of HTTP.
pub(crate) fn for_http(config: &ServerConfig) -> Arc<ServerConfig> {
    let mut config = config.clone();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Reads the files of a node of a cluster. Returns what it accepts and what it makes links with:
/// each side shows a certificate, and checks that of the other one.
///
/// # Errors
///
/// If a file cannot be read or used.
pub fn load_for_nodes(
    files: &TlsFiles,
) -> Result<(ServerConfig, rustls::ClientConfig, OwnCertificate), TlsError> {
    Material::read(files).into_link_tls()
}

/// Reads the files. Also returns what identifies their contents, valid or not.
pub(crate) fn load(files: Option<&TlsFiles>) -> LoadedTls {
    let Some(files) = files else {
        return (Ok(None), None);
    };
    let material = Material::read(files);
    let stamp = material.stamp();
    (material.into_server_tls().map(Some), Some(stamp))
}
