//! The order of destination addresses (RFC 6724, section 6).

use std::{
    cmp::Reverse,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
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
    // Less is better.
    addresses.sort_by_cached_key(|destination| {
        let source = source(*destination).map(mapped);
        let destination = mapped(destination.ip());
        let Some(source) = source else {
            return (true, true, true, Reverse(0), 0, Reverse(0)); // rule 1
        };
        let (from, to) = (policy(source), policy(destination));
        (
            false,
            scope(source) != scope(destination),         // rule 2
            from.label != to.label,                      // rule 5
            Reverse(to.precedence),                      // rule 6
            scope(destination),                          // rule 8
            Reverse(common_prefix(source, destination)), // rule 9
        )
    });
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
