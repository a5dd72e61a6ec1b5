use std::time::{Duration, Instant};

/// Limits a line of the log to one in ten seconds.
#[derive(Debug, Default)]
pub(super) struct LogRateLimit {
    last: Option<Instant>,
}

impl LogRateLimit {
    const LEAST: Duration = Duration::from_secs(10);

    /// Returns whether another line may be logged.
    pub(super) fn may_log(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= Self::LEAST)
    }

    /// Notes that a line is logged now.
    pub(super) fn note_line(&mut self) {
        self.last = Some(Instant::now());
    }
}
