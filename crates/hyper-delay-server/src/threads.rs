//! The threads that open the store, write to it, apply its jobs and schedule.

use std::{io, sync::Arc, thread};

use tokio::sync::oneshot;

use super::ServeError;
use crate::driver::{Driver, Event, Events};
use hyper_delay_engine::{committer::Writer, scheduler::Input};
use hyper_delay_store::{Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server::threads";

/// A running thread with a result. If this is dropped, the thread runs on and its result is
/// dropped.
pub(super) struct Running<T = ()> {
    name: &'static str,
    ended: oneshot::Receiver<Result<T, StoreError>>,
}

impl<T: Send + 'static> Running<T> {
    /// Starts a thread.
    pub(super) fn start(
        name: &'static str,
        body: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Self, io::Error> {
        let (tell, ended) = oneshot::channel();
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let _ = tell.send(body());
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
    writer: Writer<S>,
    store: Arc<S>,
    events: Events,
) -> Result<Running, io::Error> {
    Running::start("writer", move || {
        let end = End(events);
        let result = writer.run(|committed| {
            let _ = end.0.send(Event::Input(Input::Committed(committed)));
        });
        // It may be long.
        drop(end);
        result
            .map_err(|error| store.explained(error))
            .inspect_err(|error| tracing::error!(target: TARGET, %error, "the store failed"))
    })
}

/// Starts the thread that schedules. If the store has failed, it finds out why.
pub(super) fn scheduler<S: Store>(driver: Driver<S>, store: Arc<S>) -> Result<Running, io::Error> {
    Running::start("scheduler", move || {
        driver.run().map_err(|error| store.explained(error))
    })
}

/// Tells the scheduler that the committer has ended, by a panic too.
struct End(Events);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(Event::CommitterEnded);
    }
}
