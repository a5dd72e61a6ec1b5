//! The command line.

use std::{ops::RangeInclusive, time::Duration};

use lexopt::{Arg, Parser, ValueExt as _};

pub(crate) const HELP: &str = "\
Sends requests to replicas on loopback that are slow sometimes: without hedging, hedged after a fixed
delay, the same within a budget, and hedged after a learnt delay. Prints latencies and extra load.

usage: hedge [--requests N] [--delay TIME] [--seed N]

  --requests N   number of requests per line, 1 to 1000000 [4000]
  --delay TIME   the fixed delay, such as 6ms [6ms]
  --seed N       seed of the latencies [1]
  --help         prints this text

Exit code: 0 on success, 1 on an error, 2 if the command line is wrong.
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
                let requests = text
                    .parse()
                    .ok()
                    .filter(|requests| REQUESTS.contains(requests));
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
                return Err(format!("{error}; the options are {known}").into());
            }
        }
    }
    Ok(Command::Run(options))
}
