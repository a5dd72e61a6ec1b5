use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::{Tag, payload};
use crate::{Compression, Delivery};

/// A string that is borrowed from the line if it contains no escape.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields that dispatch a line.
#[derive(Debug, Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    tag: Option<Text<'a>>,
}

impl Head<'_> {
    pub(crate) fn kind(&self) -> &str {
        &self.kind.0
    }

    /// The tag, if this client made it.
    pub(crate) fn tag(&self) -> Option<Tag> {
        self.tag.as_ref()?.0.parse().ok().map(Tag)
    }
}

/// The reply to a request.
pub(crate) trait Reply: DeserializeOwned {
    /// The `kind`s of its line, one for each version of the protocol that changed it.
    const KINDS: &'static [&'static str];
}

/// The reply to `backup`.
#[derive(Debug, Deserialize)]
pub(crate) struct Piece {
    #[serde(rename = "data_base64", deserialize_with = "base64")]
    pub(crate) data: Vec<u8>,
    pub(crate) more: bool,
}

impl Reply for Piece {
    const KINDS: &'static [&'static str] = &["backup"];
}

fn base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text: Cow<'de, str> = Cow::deserialize(deserializer)?;
    payload::decode(&text).map_err(D::Error::custom)
}

/// The reply to `register`.
#[derive(Debug, Deserialize)]
pub(crate) struct Registered {
    pub(crate) credit: Option<u64>,
}

/// The notice that a route is no longer bound to this connection.
#[derive(Debug, Deserialize)]
pub(crate) struct Unregistered {
    pub(crate) route_key: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) reason: String,
}

/// A delivery as it arrived.
#[derive(Debug, Deserialize)]
pub(crate) struct Arrived<'a> {
    id: String,
    route_key: String,
    fire_at: u64,
    due: Option<u64>,
    attempt: u64,
    #[serde(default, deserialize_with = "or_default")]
    compression: Compression,
    #[serde(borrow)]
    payload_base64: Option<Text<'a>>,
    #[serde(default, deserialize_with = "or_default")]
    headers: BTreeMap<String, String>,
}

impl Arrived<'_> {
    pub(crate) fn delivery(self) -> Result<Delivery, serde_json::Error> {
        let payload = match &self.payload_base64 {
            Some(text) => payload::decode(&text.0).map_err(serde_json::Error::custom)?,
            None => Vec::new(),
        };
        let Self {
            id,
            route_key,
            fire_at,
            due,
            attempt,
            compression,
            headers,
            ..
        } = self;
        let delivery = Delivery::new(id, route_key, payload, fire_at, attempt, compression);
        Ok(delivery.due_at(due).with_headers(headers))
    }
}

/// Reads a `#[serde(default)]` field; `null` counts as absent.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Arrived, Head, Tag};

    #[test]
    fn a_head_is_read_whatever_else_is_there() {
        let head: Head<'_> =
            serde_json::from_str(r#"{"new":[1],"tag":"17","id":5,"kind":"a\u0062"}"#).unwrap();
        assert_eq!((head.kind(), head.tag()), ("ab", Some(Tag(17))));
        let foreign: Head<'_> = serde_json::from_str(r#"{"tag":"x","kind":"a"}"#).unwrap();
        assert_eq!(foreign.tag(), None);
        assert!(serde_json::from_str::<Head<'_>>(r#"{"kind":5}"#).is_err());
    }

    #[test]
    fn a_delivery_may_lack_what_is_optional() {
        let line =
            r#"{"id":"a","route_key":"r","fire_at":5,"attempt":1,"compression":null,"new":{}}"#;
        let delivery = serde_json::from_str::<Arrived<'_>>(line)
            .unwrap()
            .delivery()
            .unwrap();
        assert_eq!((delivery.id(), delivery.payload()), ("a", &b""[..]));
    }
}
