//! The threads of the scheduler and of the committer.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
    thread,
};

use tokio::sync::oneshot;

use super::ServeError;
use crate::{
    clock::Clock,
    committer,
    config::Sync,
    driver::Event,
    ledger::Ledger,
    scheduler::{Input, Job},
    store::{Store, StoreError},
};

/// A thread that runs. Resolves to its result, or to an error if it has panicked.
pub(super) struct Running {
    name: &'static str,
    ended: oneshot::Receiver<Result<(), StoreError>>,
}

impl Running {
    /// Starts a thread.
    pub(super) fn start(
        name: &'static str,
        body: impl FnOnce() -> Result<(), StoreError> + Send + 'static,
    ) -> Result<Self, io::Error> {
        let (tell, ended) = oneshot::channel();
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let _ = tell.send(body());
            })?;
        Ok(Self { name, ended })
    }

    /// Waits for the end. Cancel safe.
    pub(super) async fn ended(&mut self) -> Result<(), ServeError> {
        match (&mut self.ended).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(ServeError::Panicked(self.name)),
        }
    }
}

/// Starts the committer. It sends what is committed to the scheduler, and its error if it fails.
pub(super) fn committer<S: Store>(
    store: Arc<S>,
    ledger: Ledger<S>,
    sync: Sync,
    jobs: Receiver<Vec<Job>>,
    clock: Arc<dyn Clock>,
    events: Sender<Event>,
) -> Result<Running, io::Error> {
    Running::start("committer", move || {
        let told = |committed| {
            let _ = events.send(Event::Input(Input::Committed(committed)));
        };
        let result = committer::run(&*store, ledger, sync, &jobs, &*clock, told);
        if let Err(error) = result {
            tracing::error!(%error, "the store failed");
            let _ = events.send(Event::Failed(error));
        }
        Ok(())
    })
}
