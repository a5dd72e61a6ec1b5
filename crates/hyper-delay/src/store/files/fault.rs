use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::store::Space;

/// A part of a store that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    file: PathBuf,
    space: Option<&'static str>,
    what: String,
}

impl Fault {
    pub(crate) fn new(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            space: None,
            what: what.into(),
        }
    }

    pub(crate) fn of(self, space: Space) -> Self {
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(space) = self.space {
            write!(f, " (space {space})")?;
        }
        write!(f, ": {}", self.what)
    }
}
