//! The command line.

use std::{path::PathBuf, str::FromStr, time::Duration};

use lexopt::{Arg, Parser, ValueExt as _};

use crate::mirror::Mirror;

pub(crate) const HELP: &str = "\
Fetches one resource from several mirrors, one after each delay. The first complete 200 wins.

usage: mirrors [OPTIONS] [URL...]

  URL               http://HOST[:PORT]/PATH or https://..., in the order of preference;
                    without one, it races four mirrors on loopback
  --delay TIME      from one start to the next, such as 50ms or 1s; 0s starts all [50ms]
  --timeout TIME    limit for the whole race [10s]
  --runtime NAME    tokio, async-io, smol or thread [tokio]
  --output FILE     writes the body to this file; without it, only the size is printed
  --help            prints this text

Redirects are not followed. The maximum body size is 64 MiB. Exit code: 0 if a mirror won, 1 if
none did, 2 if the command line is wrong.
";

pub(crate) enum Command {
    Help,
    Race(Options),
}

pub(crate) struct Options {
    pub(crate) delay: Duration,
    pub(crate) timeout: Duration,
    pub(crate) runtime: RuntimeName,
    pub(crate) output: Option<PathBuf>,
    pub(crate) mirrors: Vec<Mirror>,
}

#[derive(Clone, Copy)]
pub(crate) enum RuntimeName {
    Tokio,
    AsyncIo,
    Smol,
    Thread,
}

impl FromStr for RuntimeName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "tokio" => Ok(Self::Tokio),
            "async-io" => Ok(Self::AsyncIo),
            "smol" => Ok(Self::Smol),
            "thread" => Ok(Self::Thread),
            _ => Err("unknown runtime; choose tokio, async-io, smol or thread"),
        }
    }
}

pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut options = Options {
        delay: Duration::from_millis(50),
        timeout: Duration::from_secs(10),
        runtime: RuntimeName::Tokio,
        output: None,
        mirrors: Vec::new(),
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("delay") => options.delay = duration("--delay", &mut parser)?,
            Arg::Long("timeout") => options.timeout = duration("--timeout", &mut parser)?,
            Arg::Long("runtime") => {
                let name = parser.value()?.string()?;
                options.runtime = name
                    .parse()
                    .map_err(|why| format!("--runtime {name:?}: {why}"))?;
            }
            Arg::Long("output") => {
                let file = parser.value()?;
                if file.is_empty() {
                    return Err("--output \"\": empty; give the path of a file".into());
                }
                options.output = Some(file.into());
            }
            Arg::Value(url) => {
                let url = url.string()?;
                let mirror = url.parse().map_err(|why| format!("url {url:?}: {why}"))?;
                options.mirrors.push(mirror);
            }
            unknown => {
                let error = unknown.unexpected();
                let known = "--delay, --timeout, --runtime, --output and --help";
                return Err(format!("{error}; the options are {known}").into());
            }
        }
    }
    Ok(Command::Race(options))
}

fn duration(option: &str, parser: &mut Parser) -> Result<Duration, lexopt::Error> {
    let text = parser.value()?.string()?;
    humantime::parse_duration(&text)
        .map_err(|why| format!("{option} {text:?}: {why}; give a time such as 50ms or 1s").into())
}
