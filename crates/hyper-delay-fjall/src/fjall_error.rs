//! Converts errors of the library `fjall` to errors of a store.

use std::io::{self, ErrorKind};

use hyper_delay_store::StoreError;

/// The cause after a write in the background has failed. The library logs that failure only.
const POISONED: &str =
    "an earlier write in the background failed, see the log; the disk may be full or failing";

/// Converts an error of the library to damage or a failing disk.
pub(super) fn to_store_error(action: &'static str, error: fjall::Error) -> StoreError {
    match &error {
        fjall::Error::Poisoned => StoreError::background(action, POISONED),
        error_of_files if is_damage(error_of_files) => StoreError::damage(action, reason(error)),
        _ => StoreError::new(action, reason(error)),
    }
}

fn is_damage(error: &fjall::Error) -> bool {
    use fjall::{Error, LsmError};
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => is_damaged_file(error),
        Error::Storage(_)
        | Error::JournalRecovery(_)
        | Error::InvalidVersion(_)
        | Error::Decompress(_)
        | Error::InvalidTrailer
        | Error::InvalidTag(_)
        | Error::Unrecoverable => true,
        _ => false,
    }
}

/// Returns whether a file of the store is too short, missing or malformed. A position that a
/// damaged file names can be an invalid one.
pub(super) fn is_damaged_file(error: &io::Error) -> bool {
    use ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
    matches!(
        error.kind(),
        UnexpectedEof | NotFound | InvalidData | InvalidInput
    )
}

/// Returns the cause of an error of the library in plain words.
fn reason(error: fjall::Error) -> Box<dyn std::error::Error + Send + Sync> {
    use fjall::{Error, LsmError};
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => error.into(),
        Error::Poisoned => POISONED.into(),
        Error::Storage(LsmError::ChecksumMismatch { .. }) => "a checksum does not match".into(),
        Error::Storage(LsmError::InvalidHeader(_)) => "the header of a block is damaged".into(),
        Error::Storage(LsmError::InvalidTrailer) => "the trailer of a block is damaged".into(),
        Error::Storage(LsmError::Unrecoverable) | Error::Unrecoverable => {
            "a file is missing, too short or damaged".into()
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_store::Space;

    #[test]
    fn a_tool_names_the_disk_and_starts_no_server() {
        let full = io::Error::from(ErrorKind::StorageFull);
        let full = to_store_error("write", fjall::Error::Io(full)).tool_message();
        let poisoned = to_store_error("write", fjall::Error::Poisoned).tool_message();
        assert!(full.contains("no storage space"), "{full}");
        assert!(
            poisoned.contains("the disk is full or failing; make room"),
            "{poisoned}"
        );
        for text in [full, poisoned] {
            assert!(!text.contains("server") && !text.contains("log"), "{text}");
        }
        let damage = StoreError::damage("read", "a block");
        assert_eq!(damage.tool_message(), damage.to_string());
    }

    #[test]
    fn damage_and_a_failing_disk_have_different_cures() {
        let io = |kind| fjall::Error::Io(io::Error::from(kind));
        for error in [
            fjall::Error::Unrecoverable,
            fjall::Error::InvalidTrailer,
            fjall::Error::Storage(fjall::LsmError::InvalidTrailer),
            io(ErrorKind::UnexpectedEof),
            io(ErrorKind::NotFound),
        ] {
            let error = to_store_error("read", error).in_space(Space::Tasks);
            assert!(error.is_damage(), "{error}");
            let text = error.to_string();
            assert!(
                text.starts_with("the store failed to read in space tasks: "),
                "{text}"
            );
            assert!(text.contains("`hyper-delay verify DIR`"), "{text}");
        }
        for error in [
            fjall::Error::Poisoned,
            io(ErrorKind::PermissionDenied),
            io(ErrorKind::Other),
        ] {
            let error = to_store_error("read", error);
            assert!(!error.is_damage(), "{error}");
            assert!(
                error
                    .to_string()
                    .ends_with("look at the disk, then start the server again")
            );
        }
        let full = to_store_error("open", io(ErrorKind::StorageFull)).to_string();
        assert!(
            full.ends_with("free some room on the disk of data_dir, then start the server again"),
            "{full}"
        );
    }
}
