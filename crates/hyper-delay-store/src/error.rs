use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    path::PathBuf,
};

use super::Space;

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
    /// The disk or the operating system failed.
    #[doc(hidden)]
    pub fn new(action: &'static str, source: impl Into<Source>) -> Self {
        Self::of(Kind::Disk, action, source.into())
    }

    /// The files do not contain what was written.
    #[doc(hidden)]
    pub fn damage(action: &'static str, source: impl Into<Source>) -> Self {
        Self::of(Kind::Damage, action, source.into())
    }

    /// Acknowledged commits are missing. `missing` and `cure` are sentences; the first has no full
    /// stop.
    #[must_use]
    #[doc(hidden)]
    pub fn loss(missing: String, cure: String) -> Self {
        let cure = Some(cure);
        Self {
            cure,
            ..Self::of(Kind::Loss, "open", missing.into())
        }
    }

    /// A newer server wrote the data. `found` names its version and the one that this server reads.
    #[must_use]
    #[doc(hidden)]
    pub fn newer(action: &'static str, found: String) -> Self {
        Self::of(Kind::Newer, action, found.into())
    }

    /// The data directory cannot be used; the message names it and the cure.
    #[must_use]
    #[doc(hidden)]
    pub fn directory(message: String) -> Self {
        Self::of(Kind::Directory, "open", message.into())
    }

    /// A write in the background failed. `source` says where the reason is.
    #[doc(hidden)]
    pub fn background(action: &'static str, source: impl Into<Source>) -> Self {
        Self::of(Kind::Background, action, source.into())
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
    #[must_use]
    #[doc(hidden)]
    pub const fn action(&self) -> &'static str {
        self.action
    }

    /// Returns whether a write in the background has failed. The files may say why.
    #[must_use]
    #[doc(hidden)]
    pub const fn is_of_background(&self) -> bool {
        matches!(self.kind, Kind::Background)
    }

    /// Returns whether the contents of the files are the cause: not the disk, the directory or the
    /// version.
    #[must_use]
    #[doc(hidden)]
    pub const fn is_of_contents(&self) -> bool {
        matches!(self.kind, Kind::Damage | Kind::Loss)
    }

    /// Returns the message for a tool that makes a store: nothing is to be started again.
    #[must_use]
    #[doc(hidden)]
    pub fn of_a_tool(&self) -> String {
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
    #[must_use]
    #[doc(hidden)]
    pub fn reason(&self) -> &Source {
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
