//! The last failure of a task, which follows the fields of its [`Name`](super::Name).

use serde::{Deserialize, Serialize};

use super::{append, take};
use crate::StoreError;
use hyper_delay_protocol::{FailureKind, LastFailure};

/// A failure as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredFailure<'a> {
    at: u64,
    kind: u8,
    /// Empty if there is none.
    reason: &'a str,
}

/// The numbers of the kinds. Append new kinds and never change a number.
const KINDS: [(u8, FailureKind); 4] = [
    (0, FailureKind::Nack),
    (1, FailureKind::AckTimeout),
    (2, FailureKind::ConnectionLost),
    (3, FailureKind::Target),
];

/// Appends a failure, if there is one.
pub(super) fn append_failure(failure: Option<&LastFailure>, bytes: Vec<u8>) -> Vec<u8> {
    let Some(failure) = failure else {
        return bytes;
    };
    let number = KINDS.iter().find(|(_, kind)| *kind == failure.kind);
    let stored = StoredFailure {
        at: failure.at,
        kind: number.expect("each kind has a number").0,
        reason: failure.reason.as_deref().unwrap_or_default(),
    };
    append(&stored, bytes)
}

/// Takes a failure from the start of the bytes, if there are any, and returns the rest.
pub(super) fn take_failure(bytes: &[u8]) -> Result<(Option<Box<LastFailure>>, &[u8]), StoreError> {
    if bytes.is_empty() {
        return Ok((None, bytes));
    }
    let (stored, rest): (StoredFailure<'_>, _) = take(bytes)?;
    let kind = KINDS.iter().find(|(number, _)| *number == stored.kind);
    let Some((_, kind)) = kind else {
        let found = format!("its failure is of kind {}, of a newer server", stored.kind);
        return Err(StoreError::newer("read a record", found));
    };
    let failure = LastFailure {
        at: stored.at,
        kind: *kind,
        reason: Some(stored.reason)
            .filter(|reason| !reason.is_empty())
            .map(Into::into),
    };
    Ok((Some(Box::new(failure)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_as_they_were_written_and_a_newer_kind_is_named() {
        assert_eq!(take_failure(b"").unwrap(), (None, &b""[..]));
        for (_, kind) in KINDS {
            for reason in [None, Some("timeout of the gateway".into())] {
                let at = 1_700_000_000_000;
                let failure = LastFailure { at, kind, reason };
                let mut bytes = append_failure(Some(&failure), Vec::new());
                bytes.push(9);
                let (read, rest) = take_failure(&bytes).unwrap();
                assert_eq!(read.as_deref(), Some(&failure));
                assert_eq!(rest, [9]);
            }
        }
        let error = take_failure(&[1, 200, 0]).unwrap_err();
        assert!(error.to_string().contains("kind"), "{error}");
    }
}
