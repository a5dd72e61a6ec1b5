//! The hosts that may connect.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net};
use serde::Serialize;

/// The addresses that may connect. An IPv4 address mapped into IPv6 counts as IPv4, both in the
/// list and in a connection.
///
/// ```
/// # mod hyper_delay { pub use hyper_delay_config as config; }
/// use hyper_delay::config::AllowedHosts;
///
/// let only_this_machine = AllowedHosts::default();
/// assert!(only_this_machine.allows("127.0.0.1".parse().unwrap()));
/// assert!(only_this_machine.allows("::ffff:127.0.0.1".parse().unwrap()));
/// assert!(!only_this_machine.allows("127.0.0.2".parse().unwrap()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHosts {
    ranges: Vec<IpNet>,
}

impl AllowedHosts {
    /// Returns whether connections from `address` are accepted.
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.ranges.iter().any(|range| range.contains(&address))
    }

    /// Allows `hosts`, or the default if there are none.
    pub(super) fn new(hosts: impl IntoIterator<Item = HostRange>) -> Self {
        let ranges: Vec<_> = hosts.into_iter().map(|HostRange(range)| range).collect();
        match ranges.is_empty() {
            true => Self::default(),
            false => Self { ranges },
        }
    }
}

impl Default for AllowedHosts {
    /// Allows this machine: 127.0.0.1 and `::1`.
    fn default() -> Self {
        let hosts: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        Self {
            ranges: hosts.map(IpNet::from).to_vec(),
        }
    }
}

impl Serialize for AllowedHosts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ranges.iter().map(|range| {
            match range.prefix_len() == range.max_prefix_len() {
                true => range.addr().to_string(),
                false => range.to_string(),
            }
        }))
    }
}

/// An entry of the list: an address, or a range without host bits.
#[derive(Debug)]
pub(super) struct HostRange(IpNet);

impl FromStr for HostRange {
    /// The valid forms.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(address.to_canonical().into()));
        }
        match text.parse::<IpNet>().map(canonical) {
            Ok(range) if range.trunc() == range => Ok(Self(range)),
            Ok(range) => Err(format!(
                "write {} for the range, or {} for the one address",
                range.trunc(),
                range.addr()
            )),
            Err(_) if text.contains(|c: char| c.is_alphabetic() && !c.is_ascii_hexdigit()) => Err(
                "this is a name, and names are not looked up, as their addresses can change: \
                 give an address such as 10.0.0.5 or a range such as 10.0.0.0/8"
                    .to_owned(),
            ),
            Err(_) => Err(
                "give an address such as 10.0.0.5 or ::1, or a range such as 10.0.0.0/8".to_owned(),
            ),
        }
    }
}

/// Turns a range of mapped addresses into a range of IPv4.
fn canonical(range: IpNet) -> IpNet {
    match (range.addr().to_canonical(), range.prefix_len()) {
        (IpAddr::V4(address), length @ 96..) if matches!(range, IpNet::V6(_)) => {
            Ipv4Net::new_assert(address, length - 96).into()
        }
        _ => range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> AllowedHosts {
        AllowedHosts::new(texts.iter().map(|text| text.parse().unwrap()))
    }

    fn allows(hosts: &AllowedHosts, address: &str) -> bool {
        hosts.allows(address.parse().unwrap())
    }

    #[test]
    fn an_empty_list_allows_this_machine() {
        let none = hosts(&[]);
        assert_eq!(none, AllowedHosts::default());
        assert!(allows(&none, "127.0.0.1") && allows(&none, "::1"));
        assert!(!allows(&none, "127.0.0.2") && !allows(&none, "10.0.0.1"));
    }

    #[test]
    fn addresses_and_ranges_allow_what_they_contain() {
        let some = hosts(&["10.0.0.0/8", "192.168.0.7", "fd00::/8"]);
        for address in ["10.0.0.0", "10.255.255.255", "192.168.0.7", "fd12::1"] {
            assert!(allows(&some, address), "{address}");
        }
        for address in ["11.0.0.0", "192.168.0.8", "fe80::1", "::1", "127.0.0.1"] {
            assert!(!allows(&some, address), "{address}");
        }
    }

    #[test]
    fn a_mapped_address_counts_as_ipv4() {
        assert!(allows(&hosts(&["10.0.0.0/8"]), "::ffff:10.1.2.3"));
        assert!(allows(&hosts(&["::ffff:10.1.2.3"]), "10.1.2.3"));
        assert!(allows(&hosts(&["::ffff:10.0.0.0/104"]), "10.1.2.3"));
        assert!(!allows(&hosts(&["::/0"]), "::ffff:10.1.2.3"));
    }

    #[test]
    fn a_name_is_refused_with_the_reason() {
        for name in ["localhost", "db.example.org", "Größe"] {
            let cure = name.parse::<HostRange>().unwrap_err();
            assert!(
                cure.starts_with("this is a name, and names are not looked up"),
                "{cure}"
            );
        }
        for text in ["", "10.0.0", "10.0.0.0/33", "10.0.0.1:80", "fe80::1%1"] {
            let cure = text.parse::<HostRange>().unwrap_err();
            assert!(cure.starts_with("give an address"), "{cure}");
        }
    }

    #[test]
    fn a_range_with_host_bits_is_refused_with_both_possible_meanings() {
        let cure = "10.1.2.3/8".parse::<HostRange>().unwrap_err();
        assert_eq!(
            cure,
            "write 10.0.0.0/8 for the range, or 10.1.2.3 for the one address"
        );
    }

    #[test]
    fn entries_are_written_as_they_are_read() {
        let texts = ["10.0.0.0/8", "192.168.0.7", "fd00::/8", "::1"];
        let json = serde_json::to_value(hosts(&texts)).unwrap();
        assert_eq!(json, serde_json::json!(texts));
    }
}
