//! The command line: one file for each subcommand.

mod failure;
mod log;
mod remote;
mod value;

mod files;
mod signal;

mod serve;

mod cancel;
mod dead;
mod listen;
mod ping;
mod schedule;
mod stats;

mod bench;

use std::{io, process::ExitCode};

use clap::{Parser, Subcommand};

use failure::Failure;

/// A durable delayed-task server: delivers payloads at their time, until they are acknowledged.
///
/// Without a subcommand it serves.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(after_help = "Example, in two terminals:
  hyper-delay
  hyper-delay schedule hello --route service-A --in 5s && hyper-delay listen service-A")]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Serve,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Schedule(schedule::Schedule),
    Listen(listen::Listen),
    Cancel(cancel::Cancel),
    Stats(stats::Stats),
    Dead(dead::Dead),
    Ping(ping::Ping),
    Bench(bench::Bench),
}

/// Does what the command line says. The exit code is 0 when that is done, 1 when it failed, and 2 when the line makes no sense.
pub(crate) fn run() -> ExitCode {
    let line = Line::parse();
    let command = line.command.unwrap_or(Command::Serve(line.serve));
    let done = match command {
        Command::Serve(serve) => serve.run(),
        Command::Schedule(schedule) => remote::block_on(schedule.run()),
        Command::Listen(listen) => remote::block_on(listen.run()),
        Command::Cancel(cancel) => remote::block_on(cancel.run()),
        Command::Stats(stats) => remote::block_on(stats.run()),
        Command::Dead(dead) => remote::block_on(dead.run()),
        Command::Ping(ping) => remote::block_on(ping.run()),
        Command::Bench(bench) => remote::block_on(bench.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has enough of it.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {}", failure.told());
            ExitCode::FAILURE
        }
    }
}
