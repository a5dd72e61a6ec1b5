//! The release that an engine behaves like.

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
}
