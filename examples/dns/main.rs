//! One host name, several resolvers: the first answer wins. A resolver that is silent costs a step,
//! and one that fails costs nothing.
//!
//! `cargo run --example dns -- [--step TIME] [HOST RESOLVER...]`; without arguments it asks three
//! resolvers of its own on loopback.

mod demo;
mod options;
mod query;

use std::{
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use race::{FirstOkError, tokio::Race};
use tokio::time::{Instant, timeout_at};

use crate::{
    options::{Command, Options},
    query::{AskError, addresses},
};

/// For all resolvers together.
const TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let answer = match options::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => Ok(options::HELP.to_owned()),
        Ok(Command::Ask(options)) => ask(options).await,
        Err(error) => {
            let error = error.to_string().replace(char::is_control, " ");
            complain(&format!("dns: {error} (see --help)"));
            return ExitCode::from(2);
        }
    };
    match answer.and_then(|text| print(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("dns: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn ask(mut options: Options) -> io::Result<String> {
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
            Ok(format!(
                "{host} is at {}\nanswered by #{} {} after {} ms\n",
                addresses.join(", "),
                won.place,
                won.arg,
                won.elapsed.as_millis(),
            ))
        }
        Err(FirstOkError::AllFailed(failed)) => {
            let mut text = format!("no resolver has an address of {host:?}");
            for it in failed {
                text += &format!("\n#{} {}: {}", it.place, it.arg, it.error);
            }
            Err(io::Error::other(text))
        }
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

/// `println!` panics when its reader has gone, such as `head -1`; here that is no error.
fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn complain(text: &str) {
    // There is nobody left to tell if this fails.
    let _ = writeln!(io::stderr(), "{text}");
}
