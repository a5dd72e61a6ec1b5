//! Hedged requests to three replicas on loopback, which are slow sometimes: without hedging, hedged
//! after a fixed delay, the same within a budget, and hedged after a learnt delay.
//!
//! It prints the tail latency and the extra load, on a good day and on a day when every request is
//! slow. The budget limits the load of the bad day. `client.rs` is the code to copy.
//!
//! `cargo run --example hedge -- [--requests N] [--delay TIME] [--seed N]`

mod client;
mod load;
mod options;
mod server;

use std::{io, process::ExitCode, sync::Arc, time::Duration};

use race::Adaptive;
use testkit::output::{complain, print};

use crate::{
    load::Load,
    options::{Command, Options},
    server::Day,
};

const GOOD: Day = Day {
    name: "good day: 1 to 4 ms, 3 % of the requests take 10 to 30 times as long",
    slower: 1,
};
const BAD: Day = Day {
    name: "bad day: every request takes 4 times as long",
    slower: 4,
};

/// The extra load that the budget and the learnt delay allow, in percent.
const PERCENT: u16 = 5;
/// The reserve of the budget, in requests.
const RESERVE: u16 = 10;
/// The longest learnt delay, so that hedging continues when many requests hang.
const CEILING: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match options::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(options::HELP),
        Ok(Command::Run(options)) => compare(&options).await,
        Err(error) => {
            complain(&format!("hedge: {error} (see --help)"));
            return ExitCode::from(2);
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("hedge: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn compare(options: &Options) -> io::Result<()> {
    let Options {
        requests,
        delay,
        seed,
    } = *options;
    print(&format!(
        "{requests} requests per line, {} at once, to {} replicas; fixed delay: {delay:?};\n\
         budget: {PERCENT} % and a reserve of {RESERVE}; target of the learnt delay: {PERCENT} %\n",
        load::CLIENTS,
        load::REPLICAS,
    ))?;
    // All requests of both days share it.
    let adaptive = Adaptive::extra_load(PERCENT.into())
        .memory(1_000)
        .ceiling(CEILING);
    let adaptive = Arc::new(adaptive);
    for day in [GOOD, BAD] {
        print(&format!("\n{}\n{}", day.name, load::HEAD))?;
        let load = Load {
            requests,
            seed,
            day,
            budget: (PERCENT, RESERVE),
            adaptive: Arc::clone(&adaptive),
        };
        load.run("never", async |client| client.send_once().await)
            .await?;
        load.run("hedged", async |client| client.send_hedged(delay).await)
            .await?;
        load.run("in budget", async |client| {
            client.send_within_budget(delay).await
        })
        .await?;
        load.run("learnt", async |client| client.send_adaptive().await)
            .await?;
    }
    Ok(())
}
