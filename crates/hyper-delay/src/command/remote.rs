//! The connection to a server and the output of the client commands.

use std::{io::Write as _, time::Duration};

use clap::Args;
use hyper_delay_client::Client;

use super::{Failure, log};

/// The address of the server.
#[derive(Debug, Args)]
pub(super) struct Remote {
    /// Host and port of the server.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "HYPER_DELAY_ADDR",
        hide_env_values = true,
        default_value = "127.0.0.1:7000"
    )]
    pub(super) addr: String,
}

impl Remote {
    pub(super) async fn connect(&self) -> Result<Client, Failure> {
        /// The highest `max_line_bytes` of a server. The server refuses what exceeds its own.
        const LONGEST: usize = 16 << 20;
        const PATIENCE: Duration = Duration::from_secs(5);
        let client = Client::builder(self.addr.clone())
            .max_line_bytes(LONGEST)
            .connect_timeout(PATIENCE)
            .connect()
            .await?;
        Ok(client)
    }
}

/// Starts logging and runs a command on a single-threaded runtime.
pub(super) fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    log::start(log::CLIENT);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(command)
}

/// Prints a line and flushes, so that it also reaches a pipe immediately.
pub(super) fn print(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(Failure::Output)
}

/// Prints a value as one line of JSON.
pub(super) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?;
    print(&line)
}
