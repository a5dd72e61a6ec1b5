use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep_until};

/// The time without a line after which a connection may be closed.
#[derive(Debug)]
pub(super) struct IdleTimer {
    timeout: Option<Duration>,
    expires: Option<Instant>,
}

impl IdleTimer {
    /// Starts a timer. It never expires without a timeout.
    pub(super) fn start(timeout: Option<Duration>) -> Self {
        let mut timer = Self {
            timeout,
            expires: None,
        };
        timer.restart();
        timer
    }

    pub(super) fn restart(&mut self) {
        self.expires = self.timeout.map(|timeout| Instant::now() + timeout);
    }

    /// Returns whether the timer can expire.
    pub(super) const fn is_set(&self) -> bool {
        self.expires.is_some()
    }

    /// Resolves once the time has passed. Cancel safe.
    pub(super) async fn expired(&self) {
        match self.expires {
            Some(at) => sleep_until(at).await,
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn a_timer_without_a_timeout_never_expires() {
        let timer = IdleTimer::start(None);
        assert!(!timer.is_set());
        assert!(timeout(MOMENT, timer.expired()).await.is_err());
    }

    #[tokio::test]
    async fn a_restart_waits_for_the_whole_timeout() {
        let mut timer = IdleTimer::start(Some(Duration::ZERO));
        timer.expired().await;
        timer.timeout = Some(Duration::from_secs(3600));
        timer.restart();
        assert!(timeout(MOMENT, timer.expired()).await.is_err());
    }
}
