use std::fmt;

/// Tasks that a tool could not save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LostTasks {
    pub known: u64,
    /// The most tasks of commits that cannot be read.
    pub most_unknown: u64,
}

impl fmt::Display for LostTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            known,
            most_unknown,
        } = self;
        match most_unknown {
            0 => known.fmt(f),
            _ => write!(
                f,
                "{known} and up to {most_unknown} of commits that cannot be read"
            ),
        }
    }
}
