//! One host name, several resolvers: the first answer wins. A resolver that is silent costs a step,
//! and one that fails costs nothing.
//!
//! `cargo run --example dns -- [--step TIME] [HOST RESOLVER...]`; without arguments it asks three
//! resolvers of its own on loopback.

mod demo;
mod options;
mod query;

use std::{io, process::ExitCode, time::Duration};

use race::{RaceError, tokio::Race};
use testkit::output::{complain, print};
use tokio::time::{Instant, timeout_at};

use crate::{
    options::{Command, Options},
    query::{AskError, addresses},
};

/// For all resolvers together.
const TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let ended = match options::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(options::HELP).map(|()| ExitCode::SUCCESS),
        Ok(Command::Ask(options)) => ask(options).await,
        Err(error) => {
            complain(&format!("dns: {error} (see --help)"));
            return ExitCode::from(2);
        }
    };
    ended.unwrap_or_else(|error| {
        complain(&format!("dns: {error}"));
        ExitCode::FAILURE
    })
}

async fn ask(mut options: Options) -> io::Result<ExitCode> {
    if options.resolvers.is_empty() {
        options.resolvers = demo::start().await?;
        print(demo::WHAT)?;
    }
    let Options {
        step,
        host,
        name,
        resolvers,
    } = options;

    let deadline = Instant::now() + TIMEOUT;
    let attempt = |&resolver: &_| {
        let name = name.clone();
        async move {
            let answer = timeout_at(deadline, addresses(resolver, name)).await;
            answer.unwrap_or(Err(AskError::TimedOut(TIMEOUT)))
        }
    };
    match Race::new(step, attempt, resolvers).first_ok().await {
        Ok(won) => {
            let addresses: Vec<_> = won.output.iter().map(ToString::to_string).collect();
            print(&format!(
                "{host} is at {}\nanswered by #{} {} after {} ms\n",
                addresses.join(", "),
                won.place,
                won.arg,
                won.elapsed.as_millis(),
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(RaceError::AllFailed(failed)) => {
            complain(&format!("dns: no resolver has an address of {host:?}"));
            for it in failed {
                complain(&format!("#{} {}: {}", it.place, it.arg, it.failure));
            }
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}
