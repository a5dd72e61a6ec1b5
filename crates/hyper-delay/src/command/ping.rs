use std::time::Instant;

use clap::Args;

use super::{CommandError, output::print, remote::Remote, time_format};

/// Ping the server and print the round-trip time.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay ping --addr 127.0.0.1:7000")]
pub(super) struct Ping {
    #[command(flatten)]
    remote: Remote,
}

impl Ping {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let asked = Instant::now();
        client.ping().await?;
        let took = time_format::format_millis(asked.elapsed());
        print(&format!("pong from {} after {took}", self.remote.addr))
    }
}
