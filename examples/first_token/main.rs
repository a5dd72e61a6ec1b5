//! Two servers stream an answer as server-sent events. The first token decides the race: the other
//! connection is closed, and only the winner's tokens are printed.
//!
//! `cargo run --example first_token`

mod client;
mod events;
mod server;

use std::{process::ExitCode, time::Duration};

use race::tokio::Race;
use testkit::output::{complain, print};

/// How long the second server waits for the first. Each connection that is established restarts the
/// delay.
const DELAY: Duration = Duration::from_millis(100);

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("first_token: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    // The first server accepts at once, and takes long for its first token.
    let mut slow = server::start(Duration::from_millis(800)).await?;
    let fast = server::start(Duration::from_millis(50)).await?;

    let race = Race::committing(
        DELAY,
        |&address, attempt| client::ask(address, attempt),
        [slow.address, fast.address],
    );
    let won = race.deadline(Duration::from_secs(5)).first_ok().await?;
    print(&format!("\nserver #{}: {} tokens\n", won.index, won.output))?;

    let cancelled = slow
        .cancelled
        .recv()
        .await
        .ok_or("it answered to the end")?;
    print(&format!(
        "the slow server was cancelled after {cancelled} tokens\n"
    ))?;
    Ok(())
}
