//! The fields of a request as raw JSON.

use serde::Deserialize;
use serde_json::{error::Category, value::RawValue};

use super::{
    Code,
    field::{Field, FieldError, clipped},
};

/// The raw value of each field. One pass over the line finds them; a field is decoded only if the
/// request uses it, so that the values of other fields do not matter.
#[derive(Default, Deserialize)]
pub(super) struct RequestFields<'a> {
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    tag: Option<&'a RawValue>,
    token: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    route_key: Option<&'a RawValue>,
    fire_at: Option<&'a RawValue>,
    payload_base64: Option<&'a RawValue>,
    compression: Option<&'a RawValue>,
    replace: Option<&'a RawValue>,
    attempt: Option<&'a RawValue>,
    confirm: Option<&'a RawValue>,
    failed: Option<&'a RawValue>,
    delay_ms: Option<&'a RawValue>,
    credit: Option<&'a RawValue>,
    mode: Option<&'a RawValue>,
    after: Option<&'a RawValue>,
    limit: Option<&'a RawValue>,
    protocol: Option<&'a RawValue>,
    offset: Option<&'a RawValue>,
    payload: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
    reason: Option<&'a RawValue>,
    from: Option<&'a RawValue>,
    until: Option<&'a RawValue>,
    job: Option<&'a RawValue>,
    dry_run: Option<&'a RawValue>,
    in_flight: Option<&'a RawValue>,
    before: Option<&'a RawValue>,
    accept: Option<&'a RawValue>,
    extend_ms: Option<&'a RawValue>,
    headers: Option<&'a RawValue>,
    expires_at: Option<&'a RawValue>,
    ack_timeout_ms: Option<&'a RawValue>,
    max_attempts: Option<&'a RawValue>,
    retry_delay_ms: Option<&'a RawValue>,
    max_retry_delay_ms: Option<&'a RawValue>,
}

/// Defines a method for each field, with the field's name.
macro_rules! fields {
    ($($name:ident)*) => {
        impl<'a> RequestFields<'a> {
            $(pub(super) fn $name(&self) -> Field<'a> {
                Field { name: stringify!($name), raw: self.$name }
            })*
        }
    };
}

fields!(kind tag token id route_key fire_at payload_base64 compression replace attempt confirm failed delay_ms credit mode after limit protocol offset accept);
fields!(payload state reason from until job dry_run in_flight before extend_ms headers);
fields!(expires_at ack_timeout_ms max_attempts retry_delay_ms max_retry_delay_ms);

impl<'a> RequestFields<'a> {
    /// Whether the line has one of the fields of [`Terms`](super::Terms).
    pub(super) fn has_terms(&self) -> bool {
        self.expires_at.is_some()
            || self.ack_timeout_ms.is_some()
            || self.max_attempts.is_some()
            || self.retry_delay_ms.is_some()
            || self.max_retry_delay_ms.is_some()
    }

    /// Finds the fields of a line.
    ///
    /// # Errors
    ///
    /// The line is not one JSON object in UTF-8, or has one of these fields twice.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, FieldError> {
        let text = std::str::from_utf8(line).map_err(|error| FieldError {
            code: Code::BadUtf8,
            message: format!(
                "byte {} of the line is not UTF-8: send the text in UTF-8",
                error.valid_up_to() + 1
            ),
        })?;
        let cure = "send one JSON object on one line";
        // Serde would accept an array, too.
        let start = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if !start.starts_with('{') {
            return Err(bad_json(format!("the line is {}: {cure}", clipped(text))));
        }
        serde_json::from_str(text).map_err(|error| {
            let column = error.column();
            match error.classify() {
                Category::Data => bad_json(format!("{error}: give each field once")),
                _ => bad_json(format!(
                    "not JSON at byte {column} of the line, {error}: {cure}"
                )),
            }
        })
    }
}

fn bad_json(message: String) -> FieldError {
    FieldError {
        code: Code::BadJson,
        message,
    }
}
