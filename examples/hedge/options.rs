//! The command line.

use std::{ops::RangeInclusive, time::Duration};

use lexopt::{Arg, Parser, ValueExt as _};

pub(crate) const HELP: &str = "\
Asks a server on loopback that is slow now and then: without hedging, with a second request after a
delay, and with the same within a budget. It prints how long requests took, and how many more there were.

usage: hedge [--requests N] [--delay TIME] [--seed N]

  --requests N   how many requests of each kind, 1 to 1000000 [4000]
  --delay TIME   when to ask a second time, such as 6ms [6ms]
  --seed N       for the server's latencies [1]
  --help         this text

It exits with 0, with 1 when something went wrong, with 2 when the command line is wrong.
";

const REQUESTS: RangeInclusive<usize> = 1..=1_000_000;

pub(crate) enum Command {
    Help,
    Run(Options),
}

pub(crate) struct Options {
    pub(crate) requests: usize,
    pub(crate) delay: Duration,
    pub(crate) seed: u64,
}

pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut options = Options {
        requests: 4_000,
        delay: Duration::from_millis(6),
        seed: 1,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("requests") => {
                let text = parser.value()?.string()?;
                let requests = text.parse().ok().filter(|it| REQUESTS.contains(it));
                options.requests = requests.ok_or_else(|| {
                    format!("--requests {text:?}: give a number from 1 to 1000000")
                })?;
            }
            Arg::Long("delay") => {
                let text = parser.value()?.string()?;
                options.delay = humantime::parse_duration(&text).map_err(|why| {
                    format!("--delay {text:?}: {why}; give a time such as 6ms or 1s")
                })?;
            }
            Arg::Long("seed") => {
                let text = parser.value()?.string()?;
                options.seed = text.parse().map_err(|_| {
                    format!("--seed {text:?}: give a number from 0 to {}", u64::MAX)
                })?;
            }
            unknown => {
                let error = unknown.unexpected();
                let known = "--requests, --delay, --seed and --help";
                return Err(format!("{error}; there are {known}").into());
            }
        }
    }
    Ok(Command::Run(options))
}
