//! One resource from several mirrors: a staggered start, the first complete 200 wins, and the others
//! are cancelled. What happened when is drawn as a staircase.
//!
//! `cargo run --example mirrors -- [--runtime tokio|async-io|smol|thread] [URL...]`; without a URL it races
//! four mirrors of its own on loopback, and `--help` tells the rest. The race is the same code on
//! each runtime: the function `race`.

mod demo;
mod fetch;
mod mirror;
mod options;
mod paced;
mod runtime;

use std::{cell::RefCell, io, process::ExitCode};

use hyper::body::Bytes;
use race::{Observer as _, RaceError, Staircase, Won, core::Race};
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
    let (stairs, ended) = match options.runtime {
        RuntimeName::Tokio => Tokio::block_on(race::<Tokio>(&options)),
        RuntimeName::AsyncIo => AsyncIo::block_on(race::<AsyncIo>(&options)),
        RuntimeName::Thread => Thread::block_on(race::<Thread>(&options)),
        RuntimeName::Smol => Smol::block_on(race::<Smol>(&options)),
    }?;
    match ended {
        Ok(won) => {
            print(&format!("{stairs:#}"))?; // and the reasons that it has no room for
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

/// The place of the winner and its body, or what went wrong with each.
type Ended = Result<Won<usize, Bytes>, RaceError<usize, FetchError>>;

/// What became of each mirror. Whatever has not ended by then is dropped, and its connection with it.
async fn race<R: Runtime>(options: &Options) -> (Staircase, Ended) {
    let tls = fetch::tls();
    let mut stairs = Staircase::new();
    for (place, mirror) in options.mirrors.iter().enumerate() {
        stairs.name(place, mirror);
    }
    let stairs = RefCell::new(stairs);
    let attempt = |&place: &usize| {
        let (mirror, stairs, tls) = (&options.mirrors[place], &stairs, &tls);
        async move {
            let fetched = fetch::fetch::<R>(mirror, tls).await;
            match &fetched {
                Ok(body) => {
                    let bytes = body.len();
                    stairs
                        .borrow_mut()
                        .note(place, format_args!("{bytes} bytes"));
                }
                Err(error) => stairs.borrow_mut().note(place, error),
            }
            fetched
        }
    };

    let places = 0..options.mirrors.len();
    let ended = Race::new_with(R::Timer::default(), options.step, attempt, places)
        .observer(|event| stairs.borrow_mut().observe(event))
        .first_ok()
        .deadline(options.timeout)
        .await;
    (stairs.into_inner(), ended)
}

fn explain(stairs: &Staircase, error: &RaceError<usize, FetchError>, options: &Options) {
    if let RaceError::Deadline { .. } = error {
        let timeout = humantime::format_duration(options.timeout);
        complain(&format!("mirrors: nobody has won within {timeout}"));
    } else {
        complain("mirrors: every mirror has failed");
    }
    for (place, mirror) in options.mirrors.iter().enumerate() {
        complain(&format!("#{place} {mirror}: {}", stairs.outcome(place)));
    }
}
