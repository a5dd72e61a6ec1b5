//! Fetches one resource from several mirrors: the starts are staggered, the first complete 200
//! wins, and the others are cancelled. A staircase shows when each attempt ran.
//!
//! `cargo run --example mirrors -- [--runtime tokio|async-io|smol|thread] [URL...]`; without a URL
//! it races four mirrors of its own on loopback. See `--help` for all options. The function `race`
//! is the same for each runtime.

mod demo;
mod fetch;
mod mirror;
mod options;
mod paced;
mod runtime;

use std::{cell::RefCell, io, process::ExitCode};

use hyper::body::Bytes;
use race::{
    RaceError, Won,
    core::Race,
    observe::{Observer as _, Staircase},
};
use testkit::output::{complain, print};

use crate::{
    fetch::FetchError,
    options::{Command, Options, RuntimeName},
    runtime::{AsyncIo, Runtime, Smol, Thread, Tokio},
};

fn main() -> ExitCode {
    let ended = match options::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(options::HELP).map(|()| ExitCode::SUCCESS),
        Ok(Command::Race(options)) => run(options),
        Err(error) => {
            complain(&format!("mirrors: {error} (see --help)"));
            return ExitCode::from(2);
        }
    };
    ended.unwrap_or_else(|error| {
        complain(&format!("mirrors: {error}"));
        ExitCode::FAILURE
    })
}

fn run(mut options: Options) -> io::Result<ExitCode> {
    if options.mirrors.is_empty() {
        options.mirrors = demo::start()?;
        print(demo::WHAT)?;
    }
    let (stairs, result) = match options.runtime {
        RuntimeName::Tokio => Tokio::block_on(race::<Tokio>(&options)),
        RuntimeName::AsyncIo => AsyncIo::block_on(race::<AsyncIo>(&options)),
        RuntimeName::Thread => Thread::block_on(race::<Thread>(&options)),
        RuntimeName::Smol => Smol::block_on(race::<Smol>(&options)),
    }?;
    match result {
        Ok(won) => {
            print(&format!("{stairs:#}"))?; // with the whole text of shortened outcomes
            if let Some(path) = &options.output {
                std::fs::write(path, won.output).map_err(|error| {
                    let path = path.display();
                    io::Error::new(error.kind(), format!("cannot write {path}: {error}"))
                })?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            print(&stairs.to_string())?;
            explain(&stairs, &error, &options);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The index of the winner and its body, or the error of each mirror.
type Outcome = Result<Won<usize, Bytes>, RaceError<usize, FetchError>>;

/// Races the mirrors. When it returns, all connections are closed.
async fn race<R: Runtime>(options: &Options) -> (Staircase, Outcome) {
    let tls = fetch::tls();
    let mut stairs = Staircase::new();
    for (index, mirror) in options.mirrors.iter().enumerate() {
        stairs.name(index, mirror);
    }
    let stairs = RefCell::new(stairs);
    let attempt = |&index: &usize| {
        let (mirror, stairs, tls) = (&options.mirrors[index], &stairs, &tls);
        async move {
            let fetched = fetch::fetch::<R>(mirror, tls).await;
            match &fetched {
                Ok(body) => {
                    let bytes = body.len();
                    let mut stairs = stairs.borrow_mut();
                    stairs.note(index, format_args!("{bytes} bytes"));
                }
                Err(error) => stairs.borrow_mut().note(index, error),
            }
            fetched
        }
    };

    let indices = 0..options.mirrors.len();
    let result = Race::at(R::Timer::default())
        .new(options.delay, attempt, indices)
        .deadline(options.timeout)
        .on_event(|event| stairs.borrow_mut().observe(event))
        .first_ok()
        .await;
    (stairs.into_inner(), result)
}

fn explain(stairs: &Staircase, error: &RaceError<usize, FetchError>, options: &Options) {
    if let RaceError::Deadline { .. } = error {
        let timeout = humantime::format_duration(options.timeout);
        complain(&format!("mirrors: no mirror won within {timeout}"));
    } else {
        complain("mirrors: every mirror failed");
    }
    for (index, mirror) in options.mirrors.iter().enumerate() {
        complain(&format!("#{index} {mirror}: {}", stairs.outcome(index)));
    }
}
