//! The contents of the TLS files.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
};
use xxhash_rust::xxh3::xxh3_128;

use super::{PROTOCOL, ServerTls, TlsError, validity::Validity};
use hyper_delay_config::TlsFiles;

/// The largest file that is read. Bundles of all public authorities take a quarter of it.
const MOST: u64 = 1 << 20;

/// Some editors begin a text with it. It is no part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The files as they were read at one time. Everything is derived from these bytes, so that files
/// that change meanwhile cannot be mixed unnoticed.
pub(super) struct Material<'a> {
    files: &'a TlsFiles,
    fields: FieldNames,
    cert: io::Result<Vec<u8>>,
    key: io::Result<Vec<u8>>,
    client_ca: Option<io::Result<Vec<u8>>>,
}

/// Identifies the contents of the files. A file that cannot be read counts as one content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TlsStamp([Option<u128>; 3]);

/// The names of the files in the configuration.
#[derive(Debug, Clone, Copy)]
struct FieldNames {
    cert: &'static str,
    key: &'static str,
    ca: &'static str,
}

impl FieldNames {
    const OF_CLIENTS: Self = Self {
        cert: "tls.cert",
        key: "tls.key",
        ca: "tls.client_ca",
    };
    const OF_NODES: Self = Self {
        cert: "cluster.tls.cert",
        key: "cluster.tls.key",
        ca: "cluster.tls.ca",
    };
}

impl<'a> Material<'a> {
    pub(super) fn read(files: &'a TlsFiles) -> Self {
        Self {
            files,
            fields: FieldNames::OF_CLIENTS,
            cert: read(&files.cert),
            key: read(&files.key),
            client_ca: files.client_ca.as_deref().map(read),
        }
    }

    pub(super) fn stamp(&self) -> TlsStamp {
        let of = |bytes: &io::Result<Vec<u8>>| bytes.as_deref().ok().map(xxh3_128);
        let client_ca = self.client_ca.as_ref().and_then(of);
        TlsStamp([of(&self.cert), of(&self.key), client_ca])
    }

    /// Returns the TLS of new connections, if all files are valid and belong together.
    pub(super) fn into_server_tls(self) -> Result<ServerTls, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let (files, fields) = (self.files, self.fields);
        let chain = certificates(fields.cert, &files.cert, self.cert)?;
        let validity = chain.first().and_then(|it| Validity::of(it));
        let key = private_key(fields.key, &files.key, self.key)?;
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the provider has cipher suites for all versions");
        let builder = match files.client_ca.as_deref().zip(self.client_ca) {
            None => builder.with_no_client_auth(),
            Some((file, bytes)) => {
                let authorities = certificates(fields.ca, file, bytes)?;
                let verifier = verifier(fields.ca, file, authorities, provider)?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| key_error(fields, files, &error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // A resumed session would skip the check of the client's certificate. Connections are long,
        // so that their handshakes cost little.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(ServerTls {
            config: Arc::new(config),
            validity,
        })
    }
}

mod nodes;
pub use nodes::OwnCertificate;

fn read(file: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

fn unusable(field: &'static str, file: &Path, why: impl Into<String>) -> TlsError {
    TlsError::Unusable {
        field,
        file: file.to_owned(),
        why: why.into(),
    }
}

fn contents(
    field: &'static str,
    file: &Path,
    bytes: io::Result<Vec<u8>>,
) -> Result<Vec<u8>, TlsError> {
    bytes.map_err(|source| TlsError::Unreadable {
        field,
        file: file.to_owned(),
        source,
    })
}

fn certificates(
    field: &'static str,
    file: &Path,
    bytes: io::Result<Vec<u8>>,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = contents(field, file, bytes)?;
    // The library's errors quote the file.
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unusable(
            field,
            file,
            "which has no certificate: give a file in PEM that begins with the certificate",
        )),
        Err(_) => Err(unusable(
            field,
            file,
            "which is damaged PEM: give a file in PEM with whole certificates",
        )),
    }
}

fn private_key(
    field: &'static str,
    file: &Path,
    bytes: io::Result<Vec<u8>>,
) -> Result<PrivateKeyDer<'static>, TlsError> {
    let bytes = contents(field, file, bytes)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        unusable(
            field,
            file,
            "which has no whole private key: give a file in PEM with a key that is not encrypted \
             (PKCS #8, PKCS #1 or SEC 1)",
        )
    })
}

fn verifier(
    field: &'static str,
    file: &Path,
    authorities: Vec<CertificateDer<'static>>,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let bad = |error: String| {
        let why = format!(
            "which has a certificate that is no authority's ({error}): give the certificates that \
             sign those of clients"
        );
        unusable(field, file, why)
    };
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority)
            .map_err(|error| bad(error.to_string()))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| bad(error.to_string()))
}

/// Returns the error of a certificate and a key that cannot be used.
fn key_error(fields: FieldNames, files: &TlsFiles, error: &rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            let why = format!(
                "which does not belong to the first certificate in {}, {:?}: give the key of that \
                 certificate, and the certificate of the server before those of its authorities",
                fields.cert, files.cert
            );
            unusable(fields.key, &files.key, why)
        }
        rustls::Error::InvalidCertificate(_) => {
            let why = format!("whose first certificate cannot be used: {error}; make a new one");
            unusable(fields.cert, &files.cert, why)
        }
        _ => {
            let why = format!(
                "which cannot be used: {error}; give an RSA key of 2,048 bits or more, an ECDSA key \
                 on P-256 or P-384, or an Ed25519 key"
            );
            unusable(fields.key, &files.key, why)
        }
    }
}

#[cfg(test)]
mod tests;
