//! Checks that hold for any contents of a file of tokens. A test and the fuzz target share them.

use std::path::Path;

use hyper_delay::access::{Secret, Tokens};

/// Reads the contents, and asserts that they are used as a whole or refused with a short error.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(json) = std::str::from_utf8(bytes) else {
        return false;
    };
    let file = Path::new("tokens.json");
    match Tokens::from_json(file, json) {
        Ok(tokens) => {
            // Nobody knows a secret of these hashes.
            let guess = format!("hd_{:012x}_{}", 0, "A".repeat(43));
            let guess = Secret::parse(&guess).expect("it is well-formed");
            assert!(tokens.grant(&guess).is_none());
            assert!(tokens.grant_of_certificate(&[]).is_none());
            true
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("tokens.json: "), "{error}");
            false
        }
    }
}
