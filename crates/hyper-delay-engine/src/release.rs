//! The release that an engine behaves like.

use std::borrow::Cow;

use hyper_delay_store::record::Name;

/// The release that an engine behaves like. Tests of upgrades choose an older one for some nodes of
/// a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Release {
    /// 0.3: last failures are neither stored nor read, and the index of retrying tasks is not kept.
    V0_3,
    /// This one.
    #[default]
    Current,
}

impl Release {
    /// Returns whether the last failures of tasks are stored and read.
    pub(crate) const fn keeps_failures(self) -> bool {
        matches!(self, Self::Current)
    }

    /// Returns what this release reads of a decoded state of a task.
    pub(crate) fn decoded(self, name: Name) -> Name {
        match self {
            Self::Current => name,
            Self::V0_3 => without_failure(name),
        }
    }

    /// Returns what this release writes of the state of a task.
    pub(crate) fn to_store(self, name: &Name) -> Cow<'_, Name> {
        match self {
            Self::Current => Cow::Borrowed(name),
            Self::V0_3 => Cow::Owned(without_failure(name.clone())),
        }
    }
}

fn without_failure(name: Name) -> Name {
    Name {
        failure: None,
        ..name
    }
}
