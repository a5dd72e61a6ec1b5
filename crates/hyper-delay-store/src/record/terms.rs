use serde::{Deserialize, Serialize};

use super::{append, take};
use crate::StoreError;
use hyper_delay_protocol::Terms;

/// The terms of a task as they are stored. The fields are those of [`Terms`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct StoredTerms {
    expires_at: Option<u64>,
    ack_timeout_ms: Option<u64>,
    max_attempts: Option<u32>,
    retry_delay_ms: Option<u64>,
    max_retry_delay_ms: Option<u64>,
}

/// Appends terms.
pub(super) fn append_terms(terms: Option<&Terms>, bytes: Vec<u8>) -> Vec<u8> {
    let stored = terms.map(|terms| {
        let Terms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        } = *terms;
        StoredTerms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        }
    });
    append(&stored, bytes)
}

/// Returns terms as they are stored. Serializing [`Terms`] leaves out absent terms, so that in a
/// format without names a value could be of any of them.
#[must_use]
pub fn stored_terms(terms: Option<&Terms>) -> Vec<u8> {
    append_terms(terms, Vec::new())
}

/// Takes terms from the start of the bytes, and returns the rest.
pub(super) fn take_terms(bytes: &[u8]) -> Result<(Option<Box<Terms>>, &[u8]), StoreError> {
    let (stored, rest): (Option<StoredTerms>, _) = take(bytes)?;
    let terms = stored.map(|stored| {
        let StoredTerms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        } = stored;
        Box::new(Terms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        })
    });
    Ok((terms, rest))
}
