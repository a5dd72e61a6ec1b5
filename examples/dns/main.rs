//! Asks several resolvers for one host name: the first answer wins. A resolver that does not answer
//! costs one delay; one that fails costs none.
//!
//! `cargo run --example dns -- [--delay TIME] [HOST RESOLVER...]`; without arguments it asks three
//! resolvers of its own on loopback.

mod demo;
mod options;
mod query;

use std::{io, net::SocketAddr, process::ExitCode, time::Duration};

use race::{RaceError, tokio::Race};
use testkit::output::{complain, print};

use crate::{
    options::{Command, Options},
    query::{AskError, addresses},
};

/// The limit for all resolvers together.
const DEADLINE: Duration = Duration::from_secs(5);

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
        delay,
        host,
        name,
        resolvers,
    } = options;

    let attempt = |&resolver: &_| addresses(resolver, name.clone());
    let race = Race::new(delay, attempt, resolvers).deadline(DEADLINE);
    match race.first_ok().await {
        Ok(won) => {
            let addresses: Vec<_> = won.output.iter().map(ToString::to_string).collect();
            print(&format!(
                "{host} is at {}\nanswered by #{} {} after {} ms\n",
                addresses.join(", "),
                won.index,
                won.arg,
                won.elapsed.as_millis(),
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            explain(&host, &error);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn explain(host: &str, error: &RaceError<SocketAddr, AskError>) {
    complain(&match error {
        RaceError::Deadline { .. } => format!("dns: no resolver answered within {DEADLINE:?}"),
        _ => format!("dns: no resolver has an address of {host:?}"),
    });
    for failed in error.failed() {
        let (index, resolver, failure) = (failed.index, failed.arg, &failed.failure);
        complain(&format!("#{index} {resolver}: {failure}"));
    }
}
