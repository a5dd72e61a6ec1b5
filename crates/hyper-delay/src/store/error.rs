use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    path::PathBuf,
};

use super::{Space, files::Fault};

/// The cause after a write in the background has failed. The library logs that failure only.
const POISONED: &str =
    "an earlier write in the background failed, see the log; the disk may be full or failing";

type Source = Box<dyn Error + Send + Sync>;

/// An operation of the store failed.
///
/// After a failed write the store must be opened again, because memory and disk may differ. A
/// failed read with [`is_damage`](Self::is_damage) concerns only the data that was read.
#[derive(Debug)]
pub struct StoreError {
    action: &'static str,
    kind: Kind,
    space: Option<Space>,
    folder: Option<PathBuf>,
    source: Source,
    /// `None`: that of the kind.
    cure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The disk or the operating system failed.
    Disk,
    /// A write in the background failed, for a reason that the library has logged only.
    Background,
    /// The files do not contain what was written.
    Damage,
    /// Acknowledged commits are missing.
    Loss,
    /// A newer server wrote the data.
    Newer,
    /// The data directory cannot be used. The source is the complete message.
    Directory,
}

impl StoreError {
    pub(crate) fn new(action: &'static str, source: impl Into<Source>) -> Self {
        Self::of(Kind::Disk, action, source.into())
    }

    pub(crate) fn damage(action: &'static str, source: impl Into<Source>) -> Self {
        Self::of(Kind::Damage, action, source.into())
    }

    /// Acknowledged commits are missing. `missing` and `cure` are sentences; the first has no full
    /// stop.
    pub(crate) fn loss(missing: String, cure: String) -> Self {
        let cure = Some(cure);
        Self {
            cure,
            ..Self::of(Kind::Loss, "open", missing.into())
        }
    }

    /// A newer server wrote the data. `found` names its version and the one that this server reads.
    pub(crate) fn newer(action: &'static str, found: String) -> Self {
        Self::of(Kind::Newer, action, found.into())
    }

    /// The data directory cannot be used; the message names it and the cure.
    pub(super) fn directory(message: String) -> Self {
        Self::of(Kind::Directory, "open", message.into())
    }

    /// Converts an error of the library to damage or a failing disk.
    pub(super) fn of_library(action: &'static str, error: fjall::Error) -> Self {
        let kind = match &error {
            fjall::Error::Poisoned => Kind::Background,
            error if is_damage(error) => Kind::Damage,
            _ => Kind::Disk,
        };
        Self::of(kind, action, reason(error))
    }

    /// Files of the store are damaged, which its error did not say.
    pub(super) fn of_files(action: &'static str, faults: &[Fault]) -> Self {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Self::damage(action, faults.join("; "))
    }

    fn of(kind: Kind, action: &'static str, source: Source) -> Self {
        Self {
            action,
            kind,
            space: None,
            folder: None,
            source,
            cure: None,
        }
    }

    /// Adds the space that was read.
    #[must_use]
    pub(crate) fn in_space(mut self, space: Space) -> Self {
        self.space = Some(space);
        self
    }

    /// Adds the folder with the files of the space.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Returns whether the files of the store are damaged: a checksum does not match, a file is
    /// missing or too short, or a value cannot be decoded. If not, the disk failed, or a newer
    /// server wrote the data.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        !matches!(self.kind, Kind::Disk | Kind::Background | Kind::Newer)
    }

    /// Returns whether the disk has no room.
    fn is_full(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = Some(&*self.source);
        while let Some(error) = cause {
            let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
            if matches!(
                kind,
                Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            ) {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// Returns what failed.
    pub(super) const fn action(&self) -> &'static str {
        self.action
    }

    /// Returns whether a write in the background has failed. The files may say why.
    pub(crate) const fn is_of_background(&self) -> bool {
        matches!(self.kind, Kind::Background)
    }

    /// Returns whether the contents of the files are the cause: not the disk, the directory or the
    /// version.
    pub(crate) const fn is_of_contents(&self) -> bool {
        matches!(self.kind, Kind::Damage | Kind::Loss)
    }

    /// Returns the message for a tool that makes a store: nothing is to be started again.
    #[cfg(any(feature = "cli", feature = "cluster", test))]
    pub(crate) fn of_a_tool(&self) -> String {
        match self.kind {
            Kind::Disk | Kind::Background => {
                let cause = match self.kind {
                    Kind::Background => {
                        "a write in the background failed, so the disk is full or failing"
                            .to_owned()
                    }
                    _ => self.source.to_string(),
                };
                format!(
                    "the new store cannot be written: {cause}; make room on the disk, or give a \
                     directory on another one, then begin again"
                )
            }
            _ => self.to_string(),
        }
    }

    /// Returns the cause, without the operation and the cure.
    pub(crate) fn reason(&self) -> &Source {
        &self.source
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.kind, Kind::Loss | Kind::Directory) {
            write!(f, "the store failed to {}: {}", self.action, self.source)?;
            return match &self.cure {
                Some(cure) => write!(f, ". {cure}"),
                None => Ok(()),
            };
        }
        write!(f, "the store failed to {}", self.action)?;
        if let Some(space) = self.space {
            write!(f, " in space {}", space.name())?;
        }
        if let Some(folder) = &self.folder {
            write!(f, " ({})", folder.display())?;
        }
        write!(f, ": {}; ", self.source)?;
        f.write_str(match self.kind {
            Kind::Disk | Kind::Background | Kind::Loss | Kind::Directory => match self.is_full() {
                true => "free some room on the disk of data_dir, then start the server again",
                false => "look at the disk, then start the server again",
            },
            Kind::Newer => {
                "a newer server wrote it: start that server or a newer one; nothing was changed"
            }
            Kind::Damage => {
                "its files are damaged: stop the server; `hyper-delay verify DIR` shows what is \
                 affected, `hyper-delay repair DIR --to NEW` saves the rest (DIR is the data_dir)"
            }
        })
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
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
fn reason(error: fjall::Error) -> Source {
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

    #[test]
    fn a_tool_names_the_disk_and_starts_no_server() {
        let full = io::Error::from(ErrorKind::StorageFull);
        let full = StoreError::of_library("write", fjall::Error::Io(full)).of_a_tool();
        let poisoned = StoreError::of_library("write", fjall::Error::Poisoned).of_a_tool();
        assert!(full.contains("no storage space"), "{full}");
        assert!(
            poisoned.contains("the disk is full or failing; make room"),
            "{poisoned}"
        );
        for text in [full, poisoned] {
            assert!(!text.contains("server") && !text.contains("log"), "{text}");
        }
        let damage = StoreError::damage("read", "a block");
        assert_eq!(damage.of_a_tool(), damage.to_string());
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
            let error = StoreError::of_library("read", error).in_space(Space::Tasks);
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
            let error = StoreError::of_library("read", error);
            assert!(!error.is_damage(), "{error}");
            assert!(
                error
                    .to_string()
                    .ends_with("look at the disk, then start the server again")
            );
        }
        let full = StoreError::of_library("open", io(ErrorKind::StorageFull)).to_string();
        assert!(
            full.ends_with("free some room on the disk of data_dir, then start the server again"),
            "{full}"
        );
    }
}
