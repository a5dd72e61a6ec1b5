//! Hedged requests: a server on loopback that is slow now and then, asked without hedging, with a second
//! request after a delay, with the same within a budget, and after a delay that is learnt. What it does to the tail, and what it costs the
//! server; on a good day, and on one on which everything is slow, which is what budgets are for.
//!
//! `cargo run --example hedge -- [--requests N] [--delay TIME] [--seed N]`

mod client;
mod load;
mod options;
mod server;

use std::{io, process::ExitCode};

use race::{Adaptive, Budget};
use testkit::output::{complain, print};

use crate::{
    load::Load,
    options::{Command, Options},
    server::Day,
};

const GOOD: Day = Day {
    name: "a good day: 1 to 4 ms, 3 in 100 take 10 to 30 times as long",
    slower: 1,
};
const BAD: Day = Day {
    name: "a bad day: everything takes 4 times as long",
    slower: 4,
};

/// How much more may be asked within the budget, in percent, and how much on top of that.
const PERCENT: u16 = 5;
const RESERVE: u16 = 10;

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
        "{requests} requests a line, by {} clients, hedged after {delay:?}; the budget is {PERCENT} % more, and {RESERVE};\n\
         the learnt delay aims at {PERCENT} % more\n",
        load::CLIENTS,
    ))?;
    // Shared by all requests, and kept from one day to the next.
    let adaptive = Adaptive::extra_load(PERCENT.into()).memory(1_000);
    for day in [GOOD, BAD] {
        print(&format!("\n{}\n{}", day.name, load::HEAD))?;
        let load = Load {
            requests,
            seed,
            day,
        };
        let budget = Budget::percent(PERCENT).reserve(RESERVE);

        // Each way to ask, with a server of its own. Another is one more call.
        load.run("never", async |it| {
            it.race(delay).max_attempts(1).first_ok().await
        })
        .await?;
        load.run("hedged", async |it| it.race(delay).first_ok().await)
            .await?;
        load.run("in budget", async |it| {
            it.race(delay).budget(&budget).first_ok().await
        })
        .await?;
        load.run("learnt", async |it| {
            it.race(delay).adaptive(&adaptive).first_ok().await
        })
        .await?;
    }
    Ok(())
}
