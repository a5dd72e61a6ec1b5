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

/// Starts the thread that writes. It sends the committed jobs to the scheduler, and tells it when it
/// ends.
pub(super) fn writer<S: Store>(
    writer: Writer<S>,
    events: Sender<Event>,
) -> Result<Running, io::Error> {
    Running::start("writer", move || {
        let end = End(events);
        let result = writer.run(|committed| {
            let _ = end.0.send(Event::Input(Input::Committed(committed)));
        });
        result.inspect_err(|error| tracing::error!(%error, "the store failed"))
    })
}

/// Tells the scheduler that the committer has ended, by a panic too.
struct End(Sender<Event>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(Event::CommitterEnded);
    }
}
