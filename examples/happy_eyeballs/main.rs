//! Happy Eyeballs (RFC 8305): a host has several addresses of two families. Connection attempts
//! start 250 ms apart, or right after a failure. The first connection wins; later ones are closed.
//!
//! It shows what a race of one's own looks like. To connect, use `race-connect`, as in the example
//! `connect`.
//!
//! `cargo run --example happy_eyeballs -- [HOST:PORT]`; without an argument it connects to three
//! addresses of its own on loopback.

mod connect;
mod demo;
mod interleave;
mod log;
mod options;

use std::{io, net::SocketAddr, process::ExitCode, time::Duration};

use testkit::output::{complain, print};
use tokio::{net::lookup_host, runtime, time::timeout};

use crate::{interleave::interleave, options::Command};

/// The limit for the resolver.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of addresses of the first family before the first of the other one.
const FIRST_FAMILY_COUNT: usize = 1;

/// How long to wait for late connections.
const LATE: Duration = Duration::from_secs(1);
/// In the demo the late connection needs a retransmission, which the system sends after 1, 3 or 7
/// s.
const LATE_IN_DEMO: Duration = Duration::from_secs(15);

fn main() -> ExitCode {
    let ended = match options::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(options::HELP).map(|()| ExitCode::SUCCESS),
        Ok(Command::Connect(host)) => run(host),
        Err(error) => {
            complain(&format!("happy_eyeballs: {error} (see --help)"));
            return ExitCode::from(2);
        }
    };
    ended.unwrap_or_else(|error| {
        complain(&format!("happy_eyeballs: {error}"));
        ExitCode::FAILURE
    })
}

fn run(host: Option<String>) -> io::Result<ExitCode> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let (addresses, late) = match &host {
            Some(host) => (resolve(host).await?, LATE),
            None => {
                print(demo::WHAT)?;
                (demo::start().await?, LATE_IN_DEMO)
            }
        };
        connect::connect(interleave(addresses, FIRST_FAMILY_COUNT), late).await
    });
    runtime.shutdown_background(); // does not wait for the system's resolver
    ended
}

async fn resolve(host: &str) -> io::Result<Vec<SocketAddr>> {
    let resolved = timeout(RESOLVE_TIMEOUT, lookup_host(host)).await;
    match resolved.unwrap_or_else(|elapsed| Err(elapsed.into())) {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("cannot resolve {host:?}: {error}"),
        )),
    }
}
