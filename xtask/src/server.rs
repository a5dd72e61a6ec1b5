//! A server that runs as a process of its own.

use std::{
    io::{self, BufRead as _, BufReader},
    process::{Child, ChildStderr},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use crate::{
    lane, output, process,
    step::{Outcome, Step},
};

/// The time for the server to start, and for it to end.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that listens.
pub(crate) struct Server {
    process: Child,
    address: String,
}

/// Starts a server, and waits until it listens. It must be ended.
pub(crate) fn start(step: Step) -> Result<Server, String> {
    let mut process = step.spawn()?;
    let log = process.stderr.take().expect("the standard error is piped");
    match listening(log).recv_timeout(LIMIT) {
        Ok(address) => Ok(Server { process, address }),
        Err(RecvTimeoutError::Timeout) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(format!("the server did not listen within {LIMIT:?}"))
        }
        // Its log has ended.
        Err(RecvTimeoutError::Disconnected) => {
            let ended = process::wait(process, LIMIT).map(|status| status.to_string());
            let how = ended.unwrap_or_else(|error| error.to_string());
            Err(format!("the server does not listen: {how}"))
        }
    }
}

impl Server {
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Ends the server, by SIGTERM if the work with it succeeded. Returns the first failure.
    pub(crate) fn end(mut self, outcome: Outcome) -> Outcome {
        if outcome.is_err() {
            let _ = self.process.kill();
            let _ = self.process.wait();
            return outcome;
        }
        let terminate = format!("kill -TERM {}", self.process.id());
        Step::new(&terminate).cleaning().run()?;
        match process::wait(self.process, LIMIT) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("the server ended with {status}")),
            Err(error) => Err(format!("the server did not end: {error}")),
        }
    }
}

/// Sends the address of the line that has it. Prints every line, so that the pipe stays empty.
fn listening(log: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let prefix = lane::prefix();
    thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(io::Result::ok) {
            if let Some((_, address)) = line.split_once("listening address=") {
                let _ = sender.send(address.trim().to_owned());
            }
            output::forwarded(prefix, &line);
        }
    });
    receiver
}
