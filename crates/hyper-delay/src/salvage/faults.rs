use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use crate::store::Space;

/// A part of a store that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    file: PathBuf,
    space: Option<&'static str>,
    what: String,
    /// Whether it is the unreadable end of the newest journal.
    is_tail: bool,
}

impl Fault {
    pub(super) fn new(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            space: None,
            what: what.into(),
            is_tail: false,
        }
    }

    /// The unreadable end of the newest journal.
    pub(super) fn tail(file: &Path, what: impl Into<String>) -> Self {
        Self {
            is_tail: true,
            ..Self::new(file, what)
        }
    }

    pub(super) fn of(self, space: Space) -> Self {
        Self {
            space: Some(space.name()),
            ..self
        }
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

/// The faults of a store, each once, even if a file is read again.
#[derive(Debug, Default)]
pub(super) struct Faults(BTreeSet<Fault>);

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.insert(fault);
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// Takes out the unreadable end of the newest journal.
    pub(super) fn take_tail(&mut self) -> Vec<String> {
        let mut tail = Vec::new();
        self.0.retain(|fault| {
            if fault.is_tail {
                tail.push(fault.to_string());
            }
            !fault.is_tail
        });
        tail
    }

    /// Adds the faults of a space.
    pub(super) fn add_all(&mut self, faults: Self, space: Space) {
        self.0
            .extend(faults.0.into_iter().map(|fault| fault.of(space)));
    }
}
