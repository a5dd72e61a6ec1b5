//! The threads of the scheduler and of the committer.

use std::{io, sync::mpsc::Sender, thread};

use tokio::sync::oneshot;

use super::ServeError;
use crate::{
    committer::Writer,
    driver::Event,
    scheduler::Input,
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

/// Starts the thread that writes. It sends the committed jobs to the scheduler, and its error if it
/// fails.
pub(super) fn writer<S: Store>(
    writer: Writer<S>,
    events: Sender<Event>,
) -> Result<Running, io::Error> {
    Running::start("writer", move || {
        let events = Reporter(events);
        let result = writer.run(|committed| events.send(Event::Input(Input::Committed(committed))));
        if let Err(error) = result {
            tracing::error!(%error, "the store failed");
            events.send(Event::Failed(error));
        }
        Ok(())
    })
}

/// Reports to the scheduler, a panic too.
struct Reporter(Sender<Event>);

impl Reporter {
    fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = StoreError::new("write", "the thread that writes has panicked");
            self.send(Event::Failed(error));
        }
    }
}
