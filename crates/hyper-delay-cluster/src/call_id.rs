/// The number of a request to the log, used once by each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallId(pub(crate) u64);

/// Numbers the requests of a node.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    last: u64,
}

impl CallIds {
    /// Returns a new number.
    pub(crate) const fn next(&mut self) -> CallId {
        self.last += 1;
        CallId(self.last)
    }
}
