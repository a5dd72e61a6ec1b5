//! Counts the lines of the log that were not written, for the metrics.
//!
//! The counts are those of the process, as its log is.

use std::sync::atomic::{AtomicU64, Ordering};

/// The kind of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLineKind {
    /// Says what an operator changed. A full buffer takes such lines for a while longer.
    Audit,
    /// Of level ERROR. A full buffer takes such lines for a while longer.
    Error,
    /// Any other line.
    Other,
}

impl LogLineKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Audit, Self::Error, Self::Other];

    const fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

static LOST: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Counts a line that was not written.
pub fn count(kind: LogLineKind) {
    LOST[kind as usize].fetch_add(1, Ordering::Relaxed);
}

/// Returns how many lines of each kind were not written, with the name of the kind.
#[must_use]
pub fn counts() -> [(&'static str, u64); 3] {
    LogLineKind::ALL.map(|kind| (kind.name(), LOST[kind as usize].load(Ordering::Relaxed)))
}
