//! The command line.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use hickory_proto::rr::Name;
use lexopt::{Arg, Parser, ValueExt as _};

use crate::demo;

pub(crate) const HELP: &str = "\
Asks several resolvers for the addresses of a host, one after each delay. The first answer wins.

usage: dns [--delay TIME] [HOST RESOLVER...]

  HOST           a name, such as www.example.org
  RESOLVER       IP, IP:PORT or [IPv6]:PORT, in the order of preference; default port: 53
  --delay TIME   from one start to the next, such as 50ms or 1s; 0s starts all [100ms]
  --help         prints this text

Without HOST and RESOLVER it asks three resolvers of its own on loopback. The deadline is 5 s. Exit
code: 0 if a resolver answered, 1 if none did, 2 if the command line is wrong.
";

pub(crate) enum Command {
    Help,
    Ask(Options),
}

pub(crate) struct Options {
    pub(crate) delay: Duration,
    pub(crate) host: String,
    pub(crate) name: Name,
    /// Empty for the demo.
    pub(crate) resolvers: Vec<SocketAddr>,
}

pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut delay = Duration::from_millis(100);
    let mut host = None;
    let mut resolvers = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("delay") => {
                let text = parser.value()?.string()?;
                delay = humantime::parse_duration(&text).map_err(|why| {
                    format!("--delay {text:?}: {why}; give a time such as 50ms or 1s")
                })?;
            }
            Arg::Value(text) if host.is_none() => host = Some(text.string()?),
            Arg::Value(text) => resolvers.push(resolver(&text.string()?)?),
            unknown => {
                let error = unknown.unexpected();
                return Err(format!("{error}; the options are --delay and --help").into());
            }
        }
    }
    if let (Some(host), []) = (&host, &resolvers[..]) {
        return Err(format!("host {host:?}: no resolver; give one RESOLVER or more").into());
    }
    let host = host.unwrap_or_else(|| demo::HOST.to_owned());
    Ok(Command::Ask(Options {
        delay,
        name: name(&host)?,
        host,
        resolvers,
    }))
}

fn resolver(text: &str) -> Result<SocketAddr, lexopt::Error> {
    let bracketed = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = match bracketed {
        Some(v6) => v6.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    let whole = text.parse().ok();
    whole
        .or_else(|| Some((address?, 53).into()))
        .filter(|resolver: &SocketAddr| resolver.port() > 0)
        .ok_or_else(|| {
            format!("resolver {text:?}: not an address; give IP, IP:PORT or [IPv6]:PORT").into()
        })
}

fn name(host: &str) -> Result<Name, lexopt::Error> {
    match Name::from_str_relaxed(host) {
        Ok(mut name) if !host.trim_matches('.').is_empty() => {
            name.set_fqdn(true); // as the answers contain it
            Ok(name)
        }
        _ => Err(format!("host {host:?}: not a name; give one such as www.example.org").into()),
    }
}
