//! The command line.

use std::net::Ipv6Addr;

use lexopt::{Arg, Parser, ValueExt as _};

pub(crate) const HELP: &str = "\
Connects to a host that has several addresses: IPv6 and IPv4 in turns, the next a quarter of a second
after the one before it, or at once if that has failed. The first connection that stands wins.

usage: happy_eyeballs [HOST:PORT]

  HOST:PORT   such as example.org:443, 192.0.2.1:80 or [2001:db8::1]:80
  --help      this text

Without HOST:PORT it connects to addresses of its own on loopback. It sends nothing, and gives up after
10 s. It exits with 0 when it was connected, 1 when not, 2 when the command line is wrong.
";

pub(crate) enum Command {
    Help,
    /// To none means to those of the demonstration.
    Connect(Option<String>),
}

pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut host = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Value(text) => {
                let text = text.string()?;
                if host.is_some() {
                    return Err(format!("{text:?}: one host is enough; leave it out").into());
                }
                check(&text).map_err(|why| format!("host {text:?}: {why}"))?;
                host = Some(text);
            }
            unknown => {
                let error = unknown.unexpected();
                return Err(format!("{error}; there are HOST:PORT and --help").into());
            }
        }
    }
    Ok(Command::Connect(host))
}

fn check(text: &str) -> Result<(), &'static str> {
    let (host, port) = text
        .rsplit_once(':')
        .ok_or("it has no port; give HOST:PORT, such as example.org:443")?;
    let bracketed = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    match bracketed {
        Some(v6) if v6.parse::<Ipv6Addr>().is_err() => {
            return Err("no IPv6 address is in the brackets; give such as [::1]:80");
        }
        None if host.is_empty() => return Err("no host is before the colon; give HOST:PORT"),
        None if host.contains(':') => {
            return Err("an IPv6 address stands in brackets, such as [::1]:80");
        }
        _ => {}
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(1..=u16::MAX) if digits => Ok(()),
        _ => Err("the port is a number from 1 to 65535"),
    }
}
