use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Shows whether the thread that writes makes progress.
#[derive(Debug)]
pub struct WriteMonitor {
    epoch: Instant,
    /// The start of the write in progress, in milliseconds since the epoch and plus one; 0 if there
    /// is none.
    begun: AtomicU64,
    has_failed: AtomicBool,
}

impl WriteMonitor {
    /// Does a write.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub fn run<T, E>(&self, write: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.begun.store(self.now() + 1, Ordering::Relaxed);
        let written = write();
        self.begun.store(0, Ordering::Relaxed);
        if written.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        written
    }

    /// Returns whether a write has failed. The server ends then.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Returns how long the write in progress has taken. `None` if there is none.
    pub fn in_progress_for(&self) -> Option<Duration> {
        let begun = self.begun.load(Ordering::Relaxed).checked_sub(1)?;
        Some(Duration::from_millis(self.now().saturating_sub(begun)))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }
}

impl Default for WriteMonitor {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            begun: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_in_progress_until_it_returns() {
        let watch = WriteMonitor::default();
        assert_eq!(watch.in_progress_for(), None);
        let written = watch.run(|| {
            assert!(watch.in_progress_for().is_some());
            Ok::<_, ()>(7)
        });
        assert_eq!((written, watch.in_progress_for()), (Ok(7), None));
        assert!(!watch.has_failed());
        assert_eq!(watch.run(|| Err::<(), _>(5)), Err(5));
        assert!(watch.has_failed());
    }
}
