//! The command line of the binary `hyper-delay`: one file for each subcommand.
//!
//! Needs the default feature `cli`.

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

mod export;
mod repair;
mod verify;

mod bench;

use std::{io, process::ExitCode};

use clap::{Parser, Subcommand};

use failure::Failure;

/// A durable delayed-task server: delivers payloads at their time until they are acknowledged.
///
/// Without a subcommand, runs the server.
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
    Verify(verify::Verify),
    Repair(repair::Repair),
    Export(export::Export),
    Bench(bench::Bench),
}

/// Runs the command line that this process was started with. Returns exit code 0 on success, and
/// 1 on failure.
///
/// Exits the process with code 2 if the command line is invalid, and with code 0 after it has
/// printed the help or the version.
#[must_use]
pub fn run() -> ExitCode {
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
        Command::Verify(verify) => verify.run(),
        Command::Repair(repair) => repair.run(),
        Command::Export(export) => export.run(),
        Command::Bench(bench) => remote::block_on(bench.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has closed the pipe, as `head` does.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {}", failure.message());
            failure.exit_code().into()
        }
    }
}
