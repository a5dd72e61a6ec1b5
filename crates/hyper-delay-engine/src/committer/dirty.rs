use std::time::{Duration, Instant};

use hyper_delay_config::Sync;

/// Oldest unsynced write (interval mode only).
#[derive(Debug)]
pub(super) struct Dirty {
    interval: Option<Duration>,
    since: Option<Instant>,
}

impl Dirty {
    pub(super) const fn new(sync: Sync) -> Self {
        let interval = match sync {
            Sync::Interval(interval) => Some(interval),
            Sync::Always | Sync::Never => None,
        };
        Self {
            interval,
            since: None,
        }
    }

    pub(super) fn written(&mut self) {
        if self.interval.is_some() {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    pub(super) const fn synced(&mut self) {
        self.since = None;
    }

    /// Returns the time until the next sync; `None` if no sync is due.
    pub(super) fn wait(&self) -> Option<Duration> {
        let (interval, since) = (self.interval?, self.since?);
        Some(interval.saturating_sub(since.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_writes_do_not_delay_the_sync() {
        let pause = Duration::from_millis(1);
        let mut dirty = Dirty::new(Sync::Interval(Duration::from_secs(3600)));
        assert_eq!(dirty.wait(), None);
        dirty.written();
        let first = dirty.wait().unwrap();
        std::thread::sleep(pause);
        dirty.written();
        assert!(dirty.wait().unwrap() <= first - pause);
        dirty.synced();
        assert_eq!(dirty.wait(), None);
    }
}
