use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::values::{shown, shown_if_some};

/// The files of TLS, in PEM. Relative to the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsFiles {
    /// The certificate of the server, then those of its authorities up to the root.
    #[serde(serialize_with = "shown")]
    pub cert: PathBuf,
    /// The private key of that certificate.
    #[serde(serialize_with = "shown")]
    pub key: PathBuf,
    /// The authorities of client certificates. If it is set, a client must have a certificate that
    /// one of them has signed.
    #[serde(serialize_with = "shown_if_some")]
    pub client_ca: Option<PathBuf>,
}

/// Reads the field `tls`. The error is the cure.
pub(super) fn read(value: &Value) -> Result<TlsFiles, String> {
    const WANTED: &str = "give {\"cert\": FILE, \"key\": FILE}, and \"client_ca\": FILE to require client certificates";
    let object = value.as_object().ok_or(WANTED)?;
    if let Some(unknown) = object
        .keys()
        .find(|field| !["cert", "key", "client_ca"].contains(&field.as_str()))
    {
        return Err(format!("{unknown:?} in it is no field: {WANTED}"));
    }
    let file = |field: &str| match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(path)) if !path.is_empty() && !path.contains('\0') => {
            Ok(Some(PathBuf::from(path)))
        }
        Some(other) => Err(format!("{field} in it is {other}: give the path of a file")),
    };
    let required = |field: &str| file(field)?.ok_or(format!("{field} is missing in it: {WANTED}"));
    Ok(TlsFiles {
        cert: required("cert")?,
        key: required("key")?,
        client_ca: file("client_ca")?,
    })
}
