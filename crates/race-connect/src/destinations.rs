//! The order of destination addresses (RFC 6724, section 6).

use std::{
    cmp::Reverse,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    time::Duration,
};

/// Sorts the addresses of a host by RFC 6724, best first, as `getaddrinfo` does.
///
/// For resolvers that do not: a DNS client gives addresses in the order of the records. `source`
/// returns the address from which a destination would be reached, or `None` if there is no route;
/// [`source_address`] asks the system.
///
/// The rules that need more knowledge of the system are left out: deprecated and home addresses,
/// and native transport (rules 3, 4 and 7). Rule 9, the longest matching prefix, applies to IPv6
/// only: for IPv4 it would undo the rotation of records by DNS servers. The sort is stable.
///
/// ```
/// use race_connect::{sort_destinations, source_address};
///
/// let mut addresses = ["192.0.2.1:443".parse().unwrap(), "[::1]:443".parse().unwrap()];
/// sort_destinations(&mut addresses, source_address);
/// ```
pub fn sort_destinations(
    addresses: &mut [SocketAddr],
    mut source: impl FnMut(SocketAddr) -> Option<IpAddr>,
) {
    addresses
        .sort_by_cached_key(|destination| Rank::new(destination.ip(), source(*destination), None));
}

/// The place of a destination in the order of RFC 6724. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    is_unreachable: bool,    // rule 1
    has_other_scope: bool,   // rule 2
    has_other_label: bool,   // rule 5
    precedence: Reverse<u8>, // rule 6
    scope: u8,               // rule 8
    /// A rule between 8 and 9 for what is known of addresses: unknown ones are last.
    handshake: Duration,
    prefix: Reverse<u32>, // rule 9
}

impl Rank {
    /// `handshake` is the time that handshakes with the destination take, if it is known.
    pub(crate) fn new(
        destination: IpAddr,
        source: Option<IpAddr>,
        handshake: Option<Duration>,
    ) -> Self {
        let destination = mapped(destination);
        let mut rank = Self {
            is_unreachable: true,
            has_other_scope: true,
            has_other_label: true,
            precedence: Reverse(0),
            scope: 0,
            handshake: handshake.unwrap_or(Duration::MAX),
            prefix: Reverse(0),
        };
        if let Some(source) = source.map(mapped) {
            let (from, to) = (policy(source), policy(destination));
            rank.is_unreachable = false;
            rank.has_other_scope = scope(source) != scope(destination);
            rank.has_other_label = from.label != to.label;
            rank.precedence = Reverse(to.precedence);
            rank.scope = scope(destination);
            rank.prefix = Reverse(common_prefix(source, destination));
        }
        rank
    }
}

/// Returns the address from which the system would reach a destination; `None` if there is no
/// route. No packet is sent. The port does not matter.
#[must_use]
pub fn source_address(mut destination: SocketAddr) -> Option<IpAddr> {
    destination.set_port(DISCARD); // not every system accepts port 0
    let unspecified: IpAddr = match destination {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((unspecified, 0)).ok()?;
    socket.connect(destination).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The port of the discard protocol.
const DISCARD: u16 = 9;

/// IPv4 addresses are compared as IPv6 addresses that map them.
fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

struct Policy {
    prefix: Ipv6Addr,
    length: u32,
    precedence: u8,
    label: u8,
}

const fn entry(first: [u16; 2], rest: [u16; 2], length: u32, precedence: u8, label: u8) -> Policy {
    let prefix = Ipv6Addr::new(first[0], first[1], 0, 0, 0, rest[0], 0, rest[1]);
    Policy {
        prefix,
        length,
        precedence,
        label,
    }
}

/// The default policy table (section 2.1), the longest prefixes first.
const POLICIES: [Policy; 9] = [
    entry([0, 0], [0, 1], 128, 50, 0),     // ::1/128
    entry([0, 0], [0xffff, 0], 96, 35, 4), // ::ffff:0:0/96
    entry([0, 0], [0, 0], 96, 1, 3),       // ::/96
    entry([0x2001, 0], [0, 0], 32, 5, 5),  // 2001::/32
    entry([0x2002, 0], [0, 0], 16, 30, 2), // 2002::/16
    entry([0x3ffe, 0], [0, 0], 16, 1, 12), // 3ffe::/16
    entry([0xfec0, 0], [0, 0], 10, 1, 11), // fec0::/10
    entry([0xfc00, 0], [0, 0], 7, 3, 13),  // fc00::/7
    entry([0, 0], [0, 0], 0, 40, 1),       // ::/0
];

fn policy(address: Ipv6Addr) -> &'static Policy {
    let mut policies = POLICIES.iter();
    let matching = policies.find(|it| matching_bits(it.prefix, address) >= it.length);
    matching.unwrap_or(&POLICIES[8])
}

/// The scope (section 3.1): 2 is the link, 5 the site, 14 the world.
fn scope(address: Ipv6Addr) -> u8 {
    const LINK: u8 = 2;
    const SITE: u8 = 5;
    const WORLD: u8 = 14;
    if let Some(v4) = address.to_ipv4_mapped() {
        return if v4.is_loopback() || v4.is_link_local() {
            LINK
        } else {
            WORLD
        };
    }
    let first = address.segments()[0];
    if address.is_multicast() {
        (first & 0xf) as u8
    } else if address.is_loopback() || first & 0xffc0 == 0xfe80 {
        LINK
    } else if first & 0xffc0 == 0xfec0 {
        SITE
    } else {
        WORLD
    }
}

/// The length of the common prefix of two IPv6 addresses, at most 64 bits; 0 for IPv4.
fn common_prefix(source: Ipv6Addr, destination: Ipv6Addr) -> u32 {
    match destination.to_ipv4_mapped() {
        Some(_) => 0,
        None => matching_bits(source, destination).min(64),
    }
}

fn matching_bits(one: Ipv6Addr, other: Ipv6Addr) -> u32 {
    (one.to_bits() ^ other.to_bits()).leading_zeros()
}

#[cfg(test)]
mod tests;
