use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::fjall_error::is_damaged_file;
use hyper_delay_store::Space;

/// A part of a store that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFault {
    file: PathBuf,
    space: Option<&'static str>,
    what: String,
    /// Whether the file is damaged. If not, the disk failed to read it.
    is_damage: bool,
}

impl FileFault {
    /// Damage to a file, and its description.
    pub fn new(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            space: None,
            what: what.into(),
            is_damage: true,
        }
    }

    /// A file could not be read.
    pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self {
            is_damage: is_damaged_file(error),
            ..Self::new(file, error.to_string())
        }
    }

    pub(crate) const fn is_damage(&self) -> bool {
        self.is_damage
    }

    /// Adds the space that the file belongs to.
    #[must_use]
    pub fn in_space(self, space: Space) -> Self {
        Self {
            space: Some(space.name()),
            ..self
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) const fn space(&self) -> Option<&'static str> {
        self.space
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(space) = self.space {
            write!(f, " (space {space})")?;
        }
        write!(f, ": {}", self.what)
    }
}
