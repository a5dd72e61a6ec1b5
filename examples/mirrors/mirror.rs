//! The URL of a mirror.

use std::{error, fmt, net::Ipv6Addr, str::FromStr};

use hyper::{
    Uri,
    http::uri::{Authority, InvalidUri, PathAndQuery},
};
use tokio_rustls::rustls::pki_types::ServerName;

/// A parsed URL.
pub(crate) struct Mirror {
    url: String,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The name in the expected certificate; `None` for http.
    pub(crate) tls: Option<ServerName<'static>>,
    pub(crate) authority: Authority,
    pub(crate) path: PathAndQuery,
}

impl FromStr for Mirror {
    type Err = BadUrl;

    fn from_str(url: &str) -> Result<Self, BadUrl> {
        // The error of `Uri` for these says only that the format is invalid.
        let rest = ["http://", "https://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#', ':'])) {
            return Err(BadUrl::NoHost);
        }
        let parts = url.parse::<Uri>().map_err(BadUrl::Unreadable)?.into_parts();
        let scheme = parts.scheme.ok_or(BadUrl::NoScheme)?;
        let authority = parts.authority.ok_or(BadUrl::NoHost)?;
        let (secure, default_port) = match scheme.as_str() {
            "http" => (false, 80),
            "https" => (true, 443),
            other => return Err(BadUrl::Scheme(other.to_owned())),
        };
        // They would be silently left out of the request.
        if authority.as_str().contains('@') {
            return Err(BadUrl::Password);
        }
        let host = authority.host();
        let port = match &authority.as_str()[host.len()..] {
            "" => default_port,
            port => read_port(port)?,
        };
        let host = match host.strip_prefix('[') {
            Some(v6) => match v6.trim_end_matches(']') {
                v6 if v6.parse::<Ipv6Addr>().is_ok() => v6.to_owned(),
                _ => return Err(BadUrl::Brackets(host.to_owned())),
            },
            None => host.to_owned(),
        };
        let tls = match secure {
            true => match ServerName::try_from(host.clone()) {
                Ok(name) => Some(name),
                Err(_) => return Err(BadUrl::Host(host)),
            },
            false => None,
        };
        let path = parts.path_and_query;
        Ok(Self {
            url: url.to_owned(),
            host,
            port,
            tls,
            authority,
            path: path.unwrap_or_else(|| PathAndQuery::from_static("/")),
        })
    }
}

/// Parses the part after the host.
fn read_port(text: &str) -> Result<u16, BadUrl> {
    let Some(port) = text.strip_prefix(':') else {
        return Err(BadUrl::AfterHost(text.to_owned()));
    };
    // `parse` accepts a leading sign.
    match port.parse() {
        Ok(number) if number > 0 && !port.starts_with('+') => Ok(number),
        _ => Err(BadUrl::Port(port.to_owned())),
    }
}

impl fmt::Display for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Why a URL is not accepted.
#[derive(Debug)]
pub(crate) enum BadUrl {
    Unreadable(InvalidUri),
    NoScheme,
    Scheme(String),
    NoHost,
    Host(String),
    Brackets(String),
    AfterHost(String),
    Port(String),
    Password,
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "{why}"),
            Self::NoScheme => f.write_str("missing scheme"),
            Self::Scheme(scheme) => write!(f, "unsupported scheme {scheme:?}"),
            Self::NoHost => f.write_str("missing host"),
            Self::Host(host) => write!(f, "the host {host:?} is not valid in a certificate"),
            Self::Brackets(host) => write!(f, "the host {host:?} is not an IPv6 address"),
            Self::AfterHost(text) => write!(f, "{text:?} after the host is not a port"),
            Self::Port(port) => write!(f, "the port {port:?} is not a number from 1 to 65535"),
            Self::Password => f.write_str("user names and passwords are not supported"),
        }?;
        f.write_str("; give http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH")
    }
}

impl error::Error for BadUrl {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Unreadable(why) => Some(why),
            _ => None,
        }
    }
}
