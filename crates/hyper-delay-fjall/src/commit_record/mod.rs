//! The commit record: the commits that the store must contain, noted outside of the store's folder.
//!
//! The file `commits` beside the folder `store` has two slots that are written in turn, so that one
//! of them is whole at any time. A slot is written after each commit that reached the disk, before
//! its jobs are reported, and with no sync of its own. A thread syncs the file at most once a
//! second. So after the end of the process the record names the last acknowledged commit; after a
//! power failure it can be a second old.

mod file;
mod slot;

pub use file::{CommitFile, CommitFileState};

use hyper_delay_store::Space;

/// Describes a data directory of a newer version.
#[must_use]
pub fn describe_newer(version: u64) -> String {
    let read = slot::VERSION;
    format!("the version of its commit record is {version}, and this server reads {read}")
}

/// Describes a space whose last commit is older than the recorded one. `None` if it is not.
#[must_use]
pub fn describe_behind(space: Space, last: u64, recorded: u64) -> Option<String> {
    let space = space.name();
    (last < recorded).then(|| {
        format!("space {space} ends at commit {last}, and the commit record says {recorded}")
    })
}

/// Describes a space without the commits after `from` up to `to`, and with later ones.
#[must_use]
pub fn describe_gap(space: Space, from: u64, to: u64) -> String {
    let space = space.name();
    format!("space {space} lacks commits after {from} up to {to}")
}

/// The commits that the store must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitRecord {
    /// The number of the last commit.
    pub commit: u64,
    /// Tasks and revisions scheduled in all commits.
    pub schedules: u64,
    /// Tasks and revisions removed in all commits.
    pub removals: u64,
    spaces: [SpaceCommits; Space::ALL.len()],
}

/// The commits that a space must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpaceCommits {
    /// The last commit that touched it.
    pub last: u64,
    /// Commits up to this one may be missing: the space was cleared, or their loss was accepted.
    pub floor: u64,
}

impl CommitRecord {
    /// Returns the commits that a space must contain.
    #[must_use]
    pub const fn space(&self, space: Space) -> SpaceCommits {
        self.spaces[space as usize]
    }

    pub(super) const fn space_mut(&mut self, space: Space) -> &mut SpaceCommits {
        &mut self.spaces[space as usize]
    }
}

#[cfg(test)]
mod tests;
