//! The progress of a server: whether it listens, and how many reloads it has answered.

use std::sync::Arc;

use tokio::sync::watch;

use hyper_delay_engine::thread_progress::ThreadProgress;

/// The progress of a server, and the pulses of its threads.
#[derive(Debug, Default)]
pub struct ServerProgress {
    /// The pulses of the threads.
    pub pulses: Arc<ThreadProgress>,
    is_listening: watch::Sender<bool>,
    /// The number of configurations that were applied or refused.
    answered_reloads: watch::Sender<u64>,
}

impl ServerProgress {
    /// Notes that the store is open and the server accepts connections.
    pub(crate) fn set_listening(&self) {
        self.is_listening.send_replace(true);
    }

    /// Notes that a new configuration is in force, or was refused.
    pub(crate) fn reload_answered(&self) {
        self.answered_reloads.send_modify(|count| *count += 1);
    }
}

/// Queries of the command line. An embedding program does not need them.
impl ServerProgress {
    /// Resolves when the server listens.
    pub async fn listening(&self) {
        let mut listening = self.is_listening.subscribe();
        // The sender is in `self`, so it cannot be gone.
        let _ = listening.wait_for(|listening| *listening).await;
    }

    /// Returns whether the server listens.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        *self.is_listening.borrow()
    }

    /// Returns a receiver of the number of configurations that were applied or refused.
    #[must_use]
    pub fn reloads(&self) -> watch::Receiver<u64> {
        self.answered_reloads.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn listening_resolves_once_the_server_listens() {
        let progress = ServerProgress::default();
        assert!(!progress.is_listening());
        progress.set_listening();
        progress.listening().await;
        assert!(progress.is_listening());
    }
}
