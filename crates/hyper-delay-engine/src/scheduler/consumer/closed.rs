//! The effects of the timeout of a copy, and of the end of a connection.

use std::{collections::BTreeSet, sync::Arc};

use super::DeliveryCopy;

/// The effect of the timeout of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scheduler) enum TimeoutEffect {
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
    pub(in crate::scheduler) unanswered: Vec<DeliveryCopy>,
    /// The revisions of the copies it left unanswered.
    pub(in crate::scheduler) late: Vec<u64>,
}
