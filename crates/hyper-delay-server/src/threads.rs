//! The threads that open the store, write to it, apply its jobs and schedule.

use std::{
    io,
    sync::{Arc, mpsc::Sender},
    thread,
};

use tokio::sync::oneshot;

use super::ServeError;
use crate::driver::{SchedulerDriver, SchedulerThreadMessage};
use hyper_delay_engine::committer::BatchWriter;
use hyper_delay_store::{Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server::threads";

/// A running thread with a result. If this is dropped, the thread runs on and its result is
/// dropped.
pub(super) struct ThreadHandle<T = ()> {
    name: &'static str,
    ended: oneshot::Receiver<Result<T, StoreError>>,
}

impl<T: Send + 'static> ThreadHandle<T> {
    /// Starts a thread.
    pub(super) fn start(
        name: &'static str,
        body: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Self, io::Error> {
        let (sender, ended) = oneshot::channel();
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let _ = sender.send(body());
            })?;
        Ok(Self { name, ended })
    }

    /// Waits for the end of the thread and returns its result, or an error if it has panicked.
    /// Cancel safe.
    pub(super) async fn ended(&mut self) -> Result<T, ServeError> {
        match (&mut self.ended).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(ServeError::Panicked(self.name)),
        }
    }
}

/// Starts the thread that writes to the store. It sends the committed jobs to the scheduler, and
/// tells it when it ends. If the store has failed, it finds out why.
pub(super) fn writer<S: Store>(
    writer: BatchWriter<S>,
    store: Arc<S>,
    messages: Sender<SchedulerThreadMessage>,
) -> Result<ThreadHandle, io::Error> {
    ThreadHandle::start("writer", move || {
        let end = CommitterEndGuard(messages);
        let result = writer.run(|committed| {
            let _ = end.0.send(SchedulerThreadMessage::Committed(committed));
        });
        // It may be long.
        drop(end);
        result
            .map_err(|error| store.diagnose(error))
            .inspect_err(|error| tracing::error!(target: TARGET, %error, "the store failed"))
    })
}

/// Starts the thread that schedules. If the store has failed, it finds out why.
pub(super) fn scheduler<S: Store>(
    driver: SchedulerDriver<S>,
    store: Arc<S>,
) -> Result<ThreadHandle, io::Error> {
    ThreadHandle::start("scheduler", move || {
        driver.run().map_err(|error| store.diagnose(error))
    })
}

/// Tells the scheduler that the committer has ended, by a panic too.
struct CommitterEndGuard(Sender<SchedulerThreadMessage>);

impl Drop for CommitterEndGuard {
    fn drop(&mut self) {
        let _ = self.0.send(SchedulerThreadMessage::CommitterEnded);
    }
}
