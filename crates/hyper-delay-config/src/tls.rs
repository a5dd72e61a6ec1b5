use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::{
    json_object::{NestedObject, file},
    serialize_path::{serialize_optional_path, serialize_path},
};

/// The files of TLS, in PEM. Relative to the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsFiles {
    /// The certificate of the server, then those of its authorities up to the root.
    #[serde(serialize_with = "serialize_path")]
    pub cert: PathBuf,
    /// The private key of that certificate.
    #[serde(serialize_with = "serialize_path")]
    pub key: PathBuf,
    /// The authorities of client certificates. If it is set, a client must have a certificate that
    /// one of them has signed.
    #[serde(serialize_with = "serialize_optional_path")]
    pub client_ca: Option<PathBuf>,
}

/// Reads the field `tls`. The error is the cure.
pub(super) fn read(value: &Value) -> Result<TlsFiles, String> {
    const WANTED: &str = "give {\"cert\": FILE, \"key\": FILE}, and \"client_ca\": FILE to require client certificates";
    let part = NestedObject::read(value, &["cert", "key", "client_ca"], WANTED)?;
    Ok(TlsFiles {
        cert: part.require("cert", file)?,
        key: part.require("key", file)?,
        client_ca: part.take("client_ca", file)?,
    })
}
