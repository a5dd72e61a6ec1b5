//! The names under which the HTTP listener may be addressed.

use std::{net::IpAddr, str::FromStr};

use serde::{Serialize, Serializer};

/// The names and addresses that the `Host` of an HTTP request may have, whatever its port.
///
/// A page of another site can make a browser send requests to this machine under a name of that
/// site. Such a name is not in the list.
///
/// ```
/// # mod hyper_delay { pub use hyper_delay_config as config; }
/// use hyper_delay::config::HttpHosts;
///
/// let hosts = HttpHosts::default();
/// let bound = "127.0.0.1".parse().unwrap();
/// assert!(hosts.allows("localhost:7001", bound) && hosts.allows("127.0.0.1:7001", bound));
/// assert!(!hosts.allows("example.org", bound));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpHosts {
    names: Vec<HttpHost>,
}

impl HttpHosts {
    /// Returns whether a request may have this `Host`, with or without a port. `bound` is the
    /// address that received it.
    ///
    /// An empty list allows `localhost` and `bound`.
    #[must_use]
    pub fn allows(&self, host: &str, bound: IpAddr) -> bool {
        let Some(host) = without_port(host).map(HttpHost::of) else {
            return false;
        };
        match self.names.is_empty() {
            true => {
                host == HttpHost::of("localhost") || host == HttpHost::Address(bound.to_canonical())
            }
            false => self.names.contains(&host),
        }
    }

    pub(super) fn new(names: Vec<HttpHost>) -> Self {
        Self { names }
    }
}

impl Serialize for HttpHosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names.iter().map(|host| match host {
            HttpHost::Name(name) => name.clone(),
            HttpHost::Address(address) => address.to_string(),
        }))
    }
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HttpHost {
    /// In lower case.
    Name(String),
    Address(IpAddr),
}

impl HttpHost {
    fn of(host: &str) -> Self {
        match host.parse::<IpAddr>() {
            Ok(address) => Self::Address(address.to_canonical()),
            Err(_) => Self::Name(host.to_ascii_lowercase()),
        }
    }
}

impl FromStr for HttpHost {
    /// The valid forms.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let host = Self::of(text);
        let is_valid = match &host {
            Self::Address(_) => true,
            Self::Name(name) => {
                (1..=253).contains(&name.len())
                    && name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
            }
        };
        is_valid.then_some(host).ok_or_else(|| {
            "give a name such as delay.example.org or an address such as 10.0.0.5 or ::1, without \
             a scheme and without a port"
                .to_owned()
        })
    }
}

/// Returns the name or the address of a `Host`, without its port and brackets.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = port.strip_prefix(':').map_or(port.is_empty(), |port| {
        port.bytes().all(|byte| byte.is_ascii_digit())
    });
    (is_port && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> HttpHosts {
        HttpHosts::new(names.iter().map(|name| name.parse().unwrap()).collect())
    }

    #[test]
    fn an_empty_list_allows_localhost_and_the_bound_address() {
        for (bound, own) in [
            ("127.0.0.1", "127.0.0.1:7001"),
            ("::1", "[::1]:7001"),
            ("::1", "[::1]"),
            ("10.0.0.5", "10.0.0.5"),
            ("::ffff:10.0.0.5", "10.0.0.5:80"),
        ] {
            let bound = bound.parse().unwrap();
            let none = hosts(&[]);
            assert!(none.allows(own, bound), "{own}");
            for host in ["localhost", "localhost:7001", "LocalHost:1"] {
                assert!(none.allows(host, bound), "{host}");
            }
            for host in [
                "",
                ":7001",
                "10.0.0.6",
                "example.org",
                "localhost.example.org",
            ] {
                assert!(!none.allows(host, bound), "{host}");
            }
        }
    }

    #[test]
    fn a_list_replaces_the_default() {
        let some = hosts(&["Delay.example.org", "10.0.0.5", "::1"]);
        let bound = "127.0.0.1".parse().unwrap();
        for host in [
            "delay.example.org:7001",
            "10.0.0.5",
            "[::1]:1",
            "DELAY.EXAMPLE.ORG",
        ] {
            assert!(some.allows(host, bound), "{host}");
        }
        for host in [
            "localhost",
            "127.0.0.1",
            "example.org",
            "xdelay.example.org",
        ] {
            assert!(!some.allows(host, bound), "{host}");
        }
    }

    #[test]
    fn what_is_no_host_is_not_allowed() {
        let bound = "127.0.0.1".parse().unwrap();
        for host in [
            "localhost:x",
            "localhost:1:2",
            "[::1",
            "[::1]x",
            "user@localhost",
            "localhost/",
            "localhost ",
            "::1",
        ] {
            assert!(!hosts(&[]).allows(host, bound), "{host}");
        }
    }

    #[test]
    fn an_entry_has_no_scheme_and_no_port() {
        for entry in ["", "http://a", "a:80", "[::1]", "a b", "a/", "Größe"] {
            let cure = entry.parse::<HttpHost>().unwrap_err();
            assert!(cure.starts_with("give a name such as"), "{cure}");
        }
    }

    #[test]
    fn entries_are_written_as_they_are_read() {
        let json = serde_json::to_value(hosts(&["a.example", "10.0.0.5", "::1"])).unwrap();
        assert_eq!(json, serde_json::json!(["a.example", "10.0.0.5", "::1"]));
    }
}
