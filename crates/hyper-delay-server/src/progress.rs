//! What a server has reached.

use std::sync::Arc;

use tokio::sync::watch;

use hyper_delay_engine::pulse::Pulses;

/// What a server has reached, and the pulses of its threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// The pulses of the threads.
    pub pulses: Arc<Pulses>,
    is_listening: watch::Sender<bool>,
    /// The number of configurations that were applied or refused.
    answered: watch::Sender<u64>,
}

impl Progress {
    /// Notes that the store is open and the server accepts connections.
    pub(crate) fn listens(&self) {
        self.is_listening.send_replace(true);
    }

    /// Notes that a new configuration is in force, or was refused.
    pub(crate) fn answered(&self) {
        self.answered.send_modify(|count| *count += 1);
    }
}

/// What the command line asks: an embedding program does not need it.
impl Progress {
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
        self.answered.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn listening_resolves_once_the_server_listens() {
        let progress = Progress::default();
        assert!(!progress.is_listening());
        progress.listens();
        progress.listening().await;
        assert!(progress.is_listening());
    }
}
