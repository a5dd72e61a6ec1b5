//! The address under which other nodes reach a node: the field `advertise`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A host and a port, as other nodes look them up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AdvertiseAddress<'a> {
    host: AdvertisedHost<'a>,
    port: u16,
}

#[derive(Debug, PartialEq, Eq)]
enum AdvertisedHost<'a> {
    Address(IpAddr),
    Name(&'a str),
}

impl<'a> AdvertiseAddress<'a> {
    /// Reads `host:port`. `None`: no other node could connect to it.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_number && *port != 0)?;
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                AdvertisedHost::Address(rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?.into())
            }
            None => match host.parse::<Ipv4Addr>() {
                Ok(address) => AdvertisedHost::Address(address.into()),
                Err(_) => AdvertisedHost::Name(host),
            },
        };
        let is_usable = match host {
            AdvertisedHost::Address(address) => {
                let address = address.to_canonical();
                !address.is_unspecified() && !address.is_multicast()
            }
            AdvertisedHost::Name(name) => is_name(name),
        };
        is_usable.then_some(Self { host, port })
    }

    /// Returns the default of `bind_addr`: the address on which links are accepted.
    pub(super) fn bind_addr(&self) -> SocketAddr {
        let address = match self.host {
            AdvertisedHost::Address(address) => address,
            AdvertisedHost::Name(name) if name.eq_ignore_ascii_case("localhost") => {
                Ipv4Addr::LOCALHOST.into()
            }
            AdvertisedHost::Name(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        (address, self.port).into()
    }
}

/// Returns whether this is a name of a host. A name whose last label is a number would be taken for
/// an address.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.split('.').all(is_label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_address_for_links_follows_the_advertised_host() {
        for (text, wanted) in [
            ("10.0.0.1:7002", "10.0.0.1:7002"),
            ("[fd00::1]:7002", "[fd00::1]:7002"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("localhost:65535", "127.0.0.1:65535"),
            ("a.internal:7002", "[::]:7002"),
            ("node_1:7002", "[::]:7002"),
        ] {
            let advertised = AdvertiseAddress::parse(text).expect(text);
            assert_eq!(advertised.bind_addr(), wanted.parse().unwrap(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_host_and_port() {
        let long = format!("{}:7002", "a".repeat(64));
        for text in [
            "",
            "a",
            "a:",
            ":7002",
            "a:0",
            "a:65536",
            "a:+1",
            "a b:7002",
            "a/b:7002",
            "http://a:7002",
            "a..b:7002",
            "10.0.0.300:7002",
            "10.0.0:7002",
            "0.0.0.0:7002",
            "[::]:7002",
            "[::ffff:0.0.0.0]:7002",
            "224.0.0.1:7002",
            "::1:7002",
            "[10.0.0.1]:7002",
            "[::1:7002",
            &long,
        ] {
            assert_eq!(AdvertiseAddress::parse(text), None, "{text}");
        }
    }
}
