//! TLS for connections: the certificate, its key, and the authorities of client certificates.
//!
//! [`reload`](crate::reload) reads the files. A set of files is used only if it is valid as a
//! whole. Each connection keeps what was in force when it was accepted.

mod error;
mod material;
mod names;
mod validity;

use std::sync::Arc;

use rustls::ServerConfig;

pub use error::TlsError;
pub use material::OwnCertificate;
pub(crate) use material::Stamp as TlsStamp;
pub(crate) use names::names;

use hyper_delay_config::TlsFiles;
use material::Material;
use validity::Validity;

/// The protocol name that clients may offer (ALPN). A client that offers other names only, such as
/// a browser, is refused.
const PROTOCOL: &[u8] = b"hyper-delay";

/// What new connections need.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// `None` if it cannot be read.
    pub(crate) validity: Option<Validity>,
}

impl Tls {
    /// When the certificate expires, in Unix seconds.
    pub(crate) fn expiry(&self) -> Option<i64> {
        Some(self.validity?.until())
    }
}

type Loaded = (Result<Option<Tls>, TlsError>, Option<TlsStamp>);

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
    Material::read(files).nodes()
}

/// Reads the files. Also returns what identifies their contents, valid or not.
pub(crate) fn load(files: Option<&TlsFiles>) -> Loaded {
    let Some(files) = files else {
        return (Ok(None), None);
    };
    let material = Material::read(files);
    let stamp = material.stamp();
    (material.server().map(Some), Some(stamp))
}
