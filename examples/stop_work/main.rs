//! Two hyper servers whose handlers queue their work, and a client that hedges its requests over
//! them. When a request has lost, its connection is closed. Servers that go on with its work waste
//! their time; servers that stop it have time for the next request. `server.rs` is the code to copy.
//!
//! `cargo run --example stop_work`

mod client;
mod server;

use std::{process::ExitCode, time::Duration};

use testkit::output::{complain, print};

use crate::{
    client::Client,
    server::{Losers, Server},
};

const REQUESTS: usize = 400;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("stop_work: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    print("servers that       median      98 %    worked   in vain, ms\n")?;
    compare("go on", Losers::GoOn).await?;
    compare("stop the work", Losers::Stop).await?;
    Ok(())
}

async fn compare(name: &str, losers: Losers) -> Result<(), Error> {
    let servers = [
        Server::start(0, losers).await?,
        Server::start(1, losers).await?,
    ];
    let client = Client::new(servers.each_ref().map(|server| server.address));
    let mut took = client.send_all(REQUESTS).await?;
    took.sort();
    let [median, slow] = [took[REQUESTS / 2], took[REQUESTS * 98 / 100]];
    let worked = servers.iter().map(Server::worked).sum();
    let in_vain = servers.iter().map(Server::in_vain).sum();
    let [median, slow, worked, in_vain] = [median, slow, worked, in_vain].map(millis);
    print(&format!(
        "{name:<15} {median:>9.1} {slow:>9.1} {worked:>9.1} {in_vain:>9.1}\n"
    ))?;
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
