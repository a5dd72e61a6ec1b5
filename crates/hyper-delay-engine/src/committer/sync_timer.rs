use std::time::{Duration, Instant};

use hyper_delay_config::Sync;

/// Oldest unsynced write (interval mode only).
#[derive(Debug)]
pub(super) struct SyncTimer {
    interval: Option<Duration>,
    since: Option<Instant>,
}

impl SyncTimer {
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

    pub(super) fn note_write(&mut self) {
        if self.interval.is_some() {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    pub(super) const fn note_sync(&mut self) {
        self.since = None;
    }

    /// Returns the time until the next sync; `None` if no sync is due.
    pub(super) fn time_to_sync(&self) -> Option<Duration> {
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
        let mut sync_timer = SyncTimer::new(Sync::Interval(Duration::from_secs(3600)));
        assert_eq!(sync_timer.time_to_sync(), None);
        sync_timer.note_write();
        let first = sync_timer.time_to_sync().unwrap();
        std::thread::sleep(pause);
        sync_timer.note_write();
        assert!(sync_timer.time_to_sync().unwrap() <= first - pause);
        sync_timer.note_sync();
        assert_eq!(sync_timer.time_to_sync(), None);
    }
}
