//! The command line of the binary `hyper-delay`: one file for each subcommand.
//!
//! Needs the default feature `cli`.

mod bulk;
mod error;
mod log;
mod output;
mod remote;
mod shell;
mod task_format;
mod time_format;

mod input_file;
mod open_files_limit;
mod service_manager;
mod signal;

mod serve;

mod audit;
mod cancel;
mod dead;
mod future;
mod get;
mod list;
mod listen;
mod pause;
mod ping;
mod purge;
mod reasons;
mod reschedule;
mod reschedule_all;
mod schedule;
mod stats;

mod backup;
mod export;
mod import;
mod repair;
mod restore;
mod verify;

mod bench;
#[cfg(feature = "cluster")]
mod cluster;
mod token;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use error::CommandError;

/// A durable delayed-task server: delivers payloads at their time until they are acknowledged.
///
/// Without a subcommand, runs the server.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(after_help = "Example, in two terminals:
  hyper-delay
  hyper-delay schedule hello --route service-A --in 5s && hyper-delay listen service-A")]
struct CommandLine {
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
    RunNow(reschedule::RunNow),
    Reschedule(reschedule::Reschedule),
    Cancel(cancel::Cancel),
    Get(get::Get),
    List(list::List),
    Stats(stats::Stats),
    Future(future::FutureCounts),
    Dead(dead::Dead),
    Reasons(reasons::Reasons),
    Purge(purge::Purge),
    Jobs(purge::Jobs),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Audit(audit::Audit),
    Ping(ping::Ping),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Verify(verify::Verify),
    Repair(repair::Repair),
    Export(export::Export),
    Import(import::Import),
    Token(token::Token),
    #[cfg(feature = "cluster")]
    Cluster(cluster::Cluster),
    Bench(bench::Bench),
}

impl Command {
    /// Whether a broken pipe is harmless: the output is only read by people. The output of the
    /// other commands is data that must be whole, or says whether something is damaged or lost.
    const fn is_for_reading(&self) -> bool {
        match self {
            Self::Backup(_)
            | Self::Restore(_)
            | Self::Verify(_)
            | Self::Repair(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Token(_) => false,
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.is_for_reading(),
            _ => true,
        }
    }
}

/// Returns the command line with its subcommands and their help.
#[cfg(feature = "internals")]
#[doc(hidden)]
#[must_use]
pub fn command_line() -> clap::Command {
    CommandLine::command()
}

/// Runs the command line that this process was started with. Returns exit code 0 on success, and
/// 1 on failure, 3 if a tool did its work and something is lost.
///
/// Returns 2 if the command line is invalid, and 0 after it has printed the help or the version.
#[must_use]
pub fn run() -> ExitCode {
    let code = run_command();
    log::finish();
    code
}

fn run_command() -> ExitCode {
    let line = match parse_command_line() {
        Ok(line) => line,
        Err(error) => return print_usage_error(&error),
    };
    let command = line.command.unwrap_or(Command::Serve(line.serve));
    let is_for_reading = command.is_for_reading();
    let done = match command {
        Command::Serve(serve) => serve.run(),
        Command::Schedule(schedule) => remote::block_on(schedule.run()),
        Command::Listen(listen) => remote::block_on(listen.run()),
        Command::RunNow(run_now) => remote::block_on(run_now.run()),
        Command::Reschedule(reschedule) => remote::block_on(reschedule.run()),
        Command::Cancel(cancel) => remote::block_on(cancel.run()),
        Command::Stats(stats) => remote::block_on(stats.run()),
        Command::Dead(dead) => remote::block_on(dead.run()),
        Command::Get(get) => remote::block_on(get.run()),
        Command::List(list) => remote::block_on(list.run()),
        Command::Future(future) => remote::block_on(future.run()),
        Command::Reasons(reasons) => remote::block_on(reasons.run()),
        Command::Purge(purge) => remote::block_on(purge.run()),
        Command::Jobs(jobs) => remote::block_on(jobs.run()),
        Command::Pause(pause) => remote::block_on(pause.run()),
        Command::Resume(resume) => remote::block_on(resume.run()),
        Command::Audit(audit) => remote::block_on(audit.run()),
        Command::Ping(ping) => remote::block_on(ping.run()),
        Command::Backup(backup) => remote::block_on(backup.run()),
        Command::Restore(restore) => restore.run(),
        Command::Verify(verify) => verify.run(),
        Command::Repair(repair) => repair.run(),
        Command::Export(export) => export.run(),
        Command::Import(import) => remote::block_on(import.run()),
        Command::Token(token) => token.run(),
        #[cfg(feature = "cluster")]
        Command::Cluster(cluster) => cluster.run(),
        Command::Bench(bench) => remote::block_on(bench.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has closed the pipe, as `head` does.
        Err(CommandError::Output(error)) if is_for_reading && is_closed(&error) => {
            ExitCode::SUCCESS
        }
        // The log has the message, in its own format.
        Err(CommandError::Logged(failure)) => failure.exit_code().into(),
        Err(failure) => {
            log::line(&format!("error: {}", output::escaped(&failure.message())));
            failure.exit_code().into()
        }
    }
}

/// Reads the command line of this process.
fn parse_command_line() -> Result<CommandLine, clap::Error> {
    let matches = CommandLine::command().try_get_matches()?;
    if let Some((name, of_it)) = matches.subcommand() {
        import::check_options(name, of_it)?;
    }
    CommandLine::from_arg_matches(&matches)
}

/// Prints the help, the version, or what is wrong with the command line.
fn print_usage_error(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(failed) if !error.use_stderr() && !is_closed(&failed) => {
            log::line(&format!("error: {}", CommandError::Output(failed)));
            ExitCode::FAILURE
        }
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Whether the reader of a pipe has ended.
fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
