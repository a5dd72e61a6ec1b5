use std::time::Instant;

use clap::Args;

use super::{
    Failure,
    remote::{Remote, print},
    value,
};

/// Ping the server and print the round-trip time.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay ping --addr 127.0.0.1:7000")]
pub(super) struct Ping {
    #[command(flatten)]
    remote: Remote,
}

impl Ping {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = self.remote.connect().await?;
        let asked = Instant::now();
        client.ping().await?;
        let took = value::millis(asked.elapsed());
        print(&format!("pong from {} after {took}", self.remote.addr))
    }
}
