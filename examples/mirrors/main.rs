//! One resource from several mirrors: a staggered start, the first complete 200 wins, and the others
//! are cancelled. What happened when is drawn as a staircase.
//!
//! `cargo run --example mirrors -- [--runtime tokio|async-io|smol] [URL...]`; without a URL it races
//! four mirrors of its own on loopback, and `--help` tells the rest. The race is the same code on
//! each runtime: the function `race`.

mod demo;
mod fetch;
mod log;
mod mirror;
mod options;
#[path = "../shared/output.rs"]
mod output;
mod paced;
mod runtime;
mod staircase;

use std::{
    future::poll_fn,
    io,
    pin::pin,
    process::ExitCode,
    task::Poll,
    time::{Duration, Instant},
};

use hyper::body::Bytes;
use race::{Timer as _, core::Race};

use crate::{
    fetch::fetch,
    log::Log,
    mirror::Mirror,
    options::{Command, Options, RuntimeName},
    output::{complain, print},
    runtime::{AsyncIo, Runtime, Smol, Tokio},
    staircase::Lane,
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
    let (lanes, won) = match options.runtime {
        RuntimeName::Tokio => Tokio::block_on(race::<Tokio>(&options)),
        RuntimeName::AsyncIo => AsyncIo::block_on(race::<AsyncIo>(&options)),
        RuntimeName::Smol => Smol::block_on(race::<Smol>(&options)),
    }?;
    print(&staircase::draw(&lanes))?;
    match won {
        Some(body) => {
            print(&staircase::reasons_in_full(&lanes))?;
            if let Some(path) = &options.output {
                std::fs::write(path, body).map_err(|error| {
                    let path = path.display();
                    io::Error::new(error.kind(), format!("cannot write {path}: {error}"))
                })?;
            }
            Ok(ExitCode::SUCCESS)
        }
        None => {
            explain(&lanes, options.timeout);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// What became of each mirror, and the winner's body. Whatever has not ended by then is dropped, and
/// its connection with it.
async fn race<R: Runtime>(options: &Options) -> (Vec<Lane>, Option<Bytes>) {
    let tls = fetch::tls();
    let log = Log::new(
        Instant::now(),
        options.mirrors.iter().map(Mirror::to_string),
    );
    let attempt = |&place: &usize| {
        let (mirror, log, tls) = (&options.mirrors[place], &log, &tls);
        async move {
            let running = log.start(place);
            let fetched = fetch::<R>(mirror, tls).await;
            running.end(&fetched);
            fetched
        }
    };

    let won = {
        let timer = R::Timer::default();
        let places = 0..options.mirrors.len();
        let mut race = pin!(Race::new_with(timer, options.step, attempt, places).first_ok());
        let mut alarm = pin!(R::Timer::default());
        let deadline = alarm.now() + options.timeout;
        poll_fn(|cx| match race.as_mut().poll(cx) {
            Poll::Ready(ended) => Poll::Ready(ended.ok()),
            Poll::Pending => alarm.as_mut().poll_until(deadline, cx).map(|()| {
                log.give_up();
                None
            }),
        })
        .await
    };
    if let Some(won) = &won {
        log.win(won.arg);
    }
    (log.into_lanes(), won.map(|won| won.output))
}

fn explain(lanes: &[Lane], timeout: Duration) {
    if lanes.iter().all(Lane::has_failed) {
        complain("mirrors: every mirror has failed");
    } else {
        let timeout = humantime::format_duration(timeout);
        complain(&format!("mirrors: nobody has won within {timeout}"));
    }
    for (place, lane) in lanes.iter().enumerate() {
        complain(&format!("#{place} {}: {}", lane.name, lane.outcome()));
    }
}
