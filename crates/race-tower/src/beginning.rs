use std::{fmt, time::Duration};

use crate::{AttemptEnd, end::Running};

/// An attempt that is about to start, for [`Rules::begin`](crate::Rules::begin).
pub struct Beginning<'a> {
    time_left: &'a mut dyn FnMut() -> Option<Duration>,
    end: Option<(AttemptEnd, Running)>,
}

impl<'a> Beginning<'a> {
    pub(crate) fn new(time_left: &'a mut dyn FnMut() -> Option<Duration>) -> Self {
        let end = None;
        Self { time_left, end }
    }

    /// Returns how long the attempt may take: until the deadline of the request or the attempt
    /// timeout, whichever comes first. `None` without both.
    pub fn time_left(&mut self) -> Option<Duration> {
        (self.time_left)()
    }

    /// Returns a handle that tells whether the attempt has ended, for rules by which attempts share
    /// what only one of them can use at a time. Each call returns the same one.
    pub fn end(&mut self) -> AttemptEnd {
        let (end, _) = self.end.get_or_insert_with(AttemptEnd::new);
        end.clone()
    }

    /// Returns the value whose drop ends the attempt, if [`end`](Self::end) was called.
    pub(crate) fn into_running(self) -> Option<Running> {
        self.end.map(|(_, running)| running)
    }
}

impl fmt::Debug for Beginning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beginning").finish_non_exhaustive()
    }
}
