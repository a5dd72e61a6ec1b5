//! What ends with a copy or a connection.

use std::{collections::BTreeSet, sync::Arc};

use super::Copy;

/// What became of a copy whose time to answer is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scheduler) enum Overdue {
    /// It has no such copy.
    Nothing,
    /// The copy was lost already; its id is free.
    Freed,
    /// An answer is late from now on. The oldest late copy may be forgotten for that.
    Late { forgotten: Option<u64> },
}

/// The routes and copies that a closed connection held.
#[derive(Debug)]
pub(in crate::scheduler) struct ClosedConsumer {
    pub(in crate::scheduler) routes: BTreeSet<Arc<str>>,
    pub(in crate::scheduler) unanswered: Vec<(Arc<str>, Copy)>,
    /// The revisions of the copies it left unanswered.
    pub(in crate::scheduler) late: Vec<u64>,
}
