//! The command line.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use hickory_proto::rr::Name;
use lexopt::{Arg, Parser, ValueExt as _};

use crate::demo;

pub(crate) const HELP: &str = "\
Asks several resolvers, a step apart, for the addresses of a host. The first answer wins.

usage: dns [--step TIME] [HOST RESOLVER...]

  HOST          a name, such as www.example.org
  RESOLVER      IP, IP:PORT or [IPv6]:PORT, in the order of preference; port 53 unless given
  --step TIME   from one start to the next, such as 50ms or 1s; 0s starts all [100ms]
  --help        this text

Without HOST and RESOLVER it asks three resolvers of its own on loopback. It gives up after 5 s. It
exits with 0 when a resolver answered, 1 when none did, 2 when the command line is wrong.
";

pub(crate) enum Command {
    Help,
    Ask(Options),
}

pub(crate) struct Options {
    pub(crate) step: Duration,
    pub(crate) host: String,
    pub(crate) name: Name,
    /// None means those of the demonstration.
    pub(crate) resolvers: Vec<SocketAddr>,
}

pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut step = Duration::from_millis(100);
    let mut host = None;
    let mut resolvers = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("step") => {
                let text = parser.value()?.string()?;
                step = humantime::parse_duration(&text).map_err(|why| {
                    format!("--step {text:?}: {why}; give a time such as 50ms or 1s")
                })?;
            }
            Arg::Value(text) if host.is_none() => host = Some(text.string()?),
            Arg::Value(text) => resolvers.push(resolver(&text.string()?)?),
            unknown => {
                let error = unknown.unexpected();
                return Err(format!("{error}; there are --step and --help").into());
            }
        }
    }
    if let (Some(host), []) = (&host, &resolvers[..]) {
        return Err(format!("host {host:?}: nobody to ask; give one RESOLVER or more").into());
    }
    let host = host.unwrap_or_else(|| demo::HOST.to_owned());
    Ok(Command::Ask(Options {
        step,
        name: name(&host)?,
        host,
        resolvers,
    }))
}

fn resolver(text: &str) -> Result<SocketAddr, lexopt::Error> {
    let bracketed = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = match bracketed {
        Some(v6) => v6.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    let whole = text.parse().ok();
    whole
        .or_else(|| Some((address?, 53).into()))
        .filter(|resolver: &SocketAddr| resolver.port() > 0)
        .ok_or_else(|| {
            format!("resolver {text:?}: no address; give IP, IP:PORT or [IPv6]:PORT").into()
        })
}

fn name(host: &str) -> Result<Name, lexopt::Error> {
    match Name::from_str_relaxed(host) {
        Ok(mut name) if !host.trim_matches('.').is_empty() => {
            name.set_fqdn(true); // as in the answers
            Ok(name)
        }
        _ => Err(format!("host {host:?}: no name; give one such as www.example.org").into()),
    }
}
