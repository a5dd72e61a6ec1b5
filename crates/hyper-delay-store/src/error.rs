use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    path::PathBuf,
};

use super::Space;

type BoxError = Box<dyn Error + Send + Sync>;

/// An operation of the store failed.
///
/// After a failed write the store must be opened again, because memory and disk may differ. A
/// failed read with [`is_damage`](Self::is_damage) concerns only the data that was read.
#[derive(Debug)]
pub struct StoreError {
    action: &'static str,
    kind: StoreErrorKind,
    space: Option<Space>,
    folder: Option<PathBuf>,
    source: BoxError,
    /// `None`: that of the kind.
    cure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreErrorKind {
    /// The disk or the operating system failed.
    Disk,
    /// A background write failed, for a reason that the library has only logged.
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
    /// The disk or the operating system failed.
    #[doc(hidden)]
    pub fn new(action: &'static str, source: impl Into<BoxError>) -> Self {
        Self::with_kind(StoreErrorKind::Disk, action, source.into())
    }

    /// The files do not contain what was written.
    #[doc(hidden)]
    pub fn damage(action: &'static str, source: impl Into<BoxError>) -> Self {
        Self::with_kind(StoreErrorKind::Damage, action, source.into())
    }

    /// Acknowledged commits are missing. `missing` and `cure` are sentences; the first has no full
    /// stop.
    #[must_use]
    #[doc(hidden)]
    pub fn loss(missing: String, cure: String) -> Self {
        let cure = Some(cure);
        Self {
            cure,
            ..Self::with_kind(StoreErrorKind::Loss, "open", missing.into())
        }
    }

    /// A newer server wrote the data. `found` names its version and the one that this server reads.
    #[must_use]
    #[doc(hidden)]
    pub fn newer(action: &'static str, found: String) -> Self {
        Self::with_kind(StoreErrorKind::Newer, action, found.into())
    }

    /// The data directory cannot be used; the message names it and the cure.
    #[must_use]
    #[doc(hidden)]
    pub fn directory(message: String) -> Self {
        Self::with_kind(StoreErrorKind::Directory, "open", message.into())
    }

    /// A background write failed. `source` names the place with the reason.
    #[doc(hidden)]
    pub fn background(action: &'static str, source: impl Into<BoxError>) -> Self {
        Self::with_kind(StoreErrorKind::Background, action, source.into())
    }

    fn with_kind(kind: StoreErrorKind, action: &'static str, source: BoxError) -> Self {
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
    #[doc(hidden)]
    pub fn in_space(mut self, space: Space) -> Self {
        self.space = Some(space);
        self
    }

    /// Adds the folder with the files of the space.
    #[must_use]
    #[doc(hidden)]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Returns whether the files of the store are damaged: a checksum does not match, a file is
    /// missing or too short, or a value cannot be decoded. If not, the disk failed, or a newer
    /// server wrote the data.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        !matches!(
            self.kind,
            StoreErrorKind::Disk | StoreErrorKind::Background | StoreErrorKind::Newer
        )
    }

    /// Returns whether the disk is full.
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
    #[must_use]
    #[doc(hidden)]
    pub const fn action(&self) -> &'static str {
        self.action
    }

    /// Returns whether a background write failed. The files may show why.
    #[must_use]
    #[doc(hidden)]
    pub const fn is_background_write(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Background)
    }

    /// Returns whether the contents of the files are the cause: they are damaged, or commits are
    /// missing. The disk, the directory and the version are not the cause then.
    #[must_use]
    #[doc(hidden)]
    pub const fn is_corruption(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Damage | StoreErrorKind::Loss)
    }

    /// Returns the message for a tool that makes a store: it names no server to start again.
    #[must_use]
    #[doc(hidden)]
    pub fn tool_message(&self) -> String {
        match self.kind {
            StoreErrorKind::Disk | StoreErrorKind::Background => {
                let cause = match self.kind {
                    StoreErrorKind::Background => {
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
    #[must_use]
    #[doc(hidden)]
    pub fn reason(&self) -> &BoxError {
        &self.source
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.kind, StoreErrorKind::Loss | StoreErrorKind::Directory) {
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
            StoreErrorKind::Disk
            | StoreErrorKind::Background
            | StoreErrorKind::Loss
            | StoreErrorKind::Directory => match self.is_full() {
                true => "free some room on the disk of data_dir, then start the server again",
                false => "look at the disk, then start the server again",
            },
            StoreErrorKind::Newer => {
                "a newer server wrote it: start that server or a newer one; nothing was changed"
            }
            StoreErrorKind::Damage => {
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
