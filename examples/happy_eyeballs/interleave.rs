//! The order in which addresses are tried.

use std::net::SocketAddr;

/// Alternates the two families, each in its own order (RFC 8305, section 4). The first family is
/// that of the resolver's first address. `first_family_count` of its addresses, at least one, come
/// first.
pub(crate) fn interleave(addresses: Vec<SocketAddr>, first_family_count: usize) -> Vec<SocketAddr> {
    let v6_first = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, other): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == v6_first);
    let (mut first, mut other) = (first.into_iter(), other.into_iter());

    let mut order: Vec<_> = first.by_ref().take(first_family_count.max(1)).collect();
    loop {
        let pair = [other.next(), first.next()];
        if pair == [None, None] {
            return order;
        }
        order.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "6a" is an IPv6 address, "4b" an IPv4 address.
    fn addresses(names: &str) -> Vec<SocketAddr> {
        let address = |name: &str| {
            let (ip, port) = match name.as_bytes() {
                [b'6', port] => ("[2001:db8::1]", port),
                [_, port] => ("192.0.2.1", port),
                _ => panic!("{name}"),
            };
            format!("{ip}:{port}").parse().unwrap()
        };
        names.split_whitespace().map(address).collect()
    }

    #[track_caller]
    fn assert_order(resolved: &str, first_family_count: usize, order: &str) {
        let interleaved = interleave(addresses(resolved), first_family_count);
        assert_eq!(interleaved, addresses(order));
    }

    /// The cases of aiohappyeyeballs, tests/test_impl.py.
    #[test]
    fn families_alternate_and_first_address_stays_first() {
        assert_order("6a 6b 4a 4b", 1, "6a 4a 6b 4b");
        assert_order("6a 6b 6c 4a", 1, "6a 4a 6b 6c");
        assert_order("4a 6a 4b", 1, "4a 6a 4b");
        assert_order("4a 6a", 1, "4a 6a");
        assert_order("6a 4a 4b 4c", 1, "6a 4a 4b 4c");
    }

    #[test]
    fn one_family_keeps_its_order() {
        assert_order("4a 4b", 1, "4a 4b");
        assert_order("6c 6a 6b", 2, "6c 6a 6b");
        assert_order("", 1, "");
    }

    #[test]
    fn first_family_count_addresses_come_first() {
        assert_order("6a 6b 6c 4a", 2, "6a 6b 4a 6c");
        assert_order("6a 4a 4b", 5, "6a 4a 4b");
        assert_order("6a 6b 4a", 0, "6a 4a 6b");
    }

    /// To prefer IPv6, sort before, as deno does.
    #[test]
    fn ipv6_comes_first_if_sorted_first() {
        let mut resolved = addresses("4a 6a 4b 6b");
        resolved.sort_by_key(SocketAddr::is_ipv4);
        assert_eq!(interleave(resolved, 1), addresses("6a 4a 6b 4b"));
    }
}
