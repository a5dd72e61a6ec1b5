//! The command line.

use std::net::Ipv6Addr;

use lexopt::{Arg, Parser, ValueExt as _};

pub(crate) const HELP: &str = "\
Connects to a host with several addresses: IPv6 and IPv4 alternate, and the next attempt starts 250 ms
after the previous one, or right after a failure. The first connection wins.

usage: happy_eyeballs [HOST:PORT]

  HOST:PORT   such as example.org:443, 192.0.2.1:80 or [2001:db8::1]:80
  --help      prints this text

Without HOST:PORT it connects to addresses of its own on loopback. It sends no data. The deadline is
10 s. Exit code: 0 if it connected, 1 if not, 2 if the command line is wrong.
";

pub(crate) enum Command {
    Help,
    /// `None` is the demo.
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
                    return Err(format!("{text:?}: only one host is allowed").into());
                }
                check(&text).map_err(|why| format!("host {text:?}: {why}"))?;
                host = Some(text);
            }
            unknown => {
                let error = unknown.unexpected();
                return Err(format!("{error}; the arguments are HOST:PORT and --help").into());
            }
        }
    }
    Ok(Command::Connect(host))
}

fn check(text: &str) -> Result<(), &'static str> {
    let (host, port) = text
        .rsplit_once(':')
        .ok_or("missing port; give HOST:PORT, such as example.org:443")?;
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match bracketed {
        Some(v6) if v6.parse::<Ipv6Addr>().is_err() => {
            return Err("not an IPv6 address in the brackets; give one such as [::1]:80");
        }
        None if host.is_empty() => return Err("no host before the colon; give HOST:PORT"),
        None if host.contains(':') => {
            return Err("an IPv6 address needs brackets, such as [::1]:80");
        }
        _ => {}
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(1..=u16::MAX) if digits => Ok(()),
        _ => Err("the port must be a number from 1 to 65535"),
    }
}
