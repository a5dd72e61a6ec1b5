use std::net::{IpAddr, SocketAddr};

use super::{sort_destinations, source_address};

/// Sorts destinations with the sources from which they are reached; `-` is no route.
fn sorted(pairs: &[(&str, &str)]) -> Vec<String> {
    let address = |ip: &str| SocketAddr::new(ip.parse::<IpAddr>().unwrap(), 443);
    let mut addresses: Vec<_> = pairs.iter().map(|(to, _)| address(to)).collect();
    sort_destinations(&mut addresses, |destination| {
        let pair = pairs.iter().find(|(to, _)| address(to) == destination);
        pair.unwrap().1.parse().ok()
    });
    addresses.iter().map(|it| it.ip().to_string()).collect()
}

/// The second of two is better, and stays so in the other order.
fn assert_better(worse: (&str, &str), better: (&str, &str)) {
    let expected = [better.0, worse.0];
    assert_eq!(sorted(&[worse, better]), expected);
    assert_eq!(sorted(&[better, worse]), expected);
}

#[test]
fn destination_without_a_route_is_last() {
    assert_better(("2001:db8:1::1", "-"), ("192.0.2.1", "192.0.2.7"));
}

/// The examples of RFC 6724, section 10.2.
#[test]
fn examples_of_the_rfc() {
    let v6 = ("2001:db8:1::1", "2001:db8:1::2");
    // Matching scope.
    assert_better(("198.51.100.121", "169.254.13.78"), v6);
    assert_better(
        ("2001:db8:1::1", "fe80::1"),
        ("198.51.100.121", "198.51.100.117"),
    );
    // Higher precedence.
    assert_better(("10.1.2.3", "10.1.2.4"), v6);
    // Smaller scope.
    assert_better(v6, ("fe80::1", "fe80::2"));
    // Matching label.
    let six_to_four = ("2002:c633:6401::1", "2002:c633:6401::2");
    assert_better(("2001:db8:1::1", "2002:c633:6401::2"), six_to_four);
    // Higher precedence.
    assert_better(six_to_four, v6);
    // Longest matching prefix.
    assert_better(("2001:db8:3ffe::1", "2001:db8:3f44::2"), v6);
}

#[test]
fn loopback_is_better_than_the_world_and_unique_local_is_worse_than_v4() {
    assert_better(("192.0.2.1", "192.0.2.7"), ("::1", "::1"));
    assert_better(("fd00::1", "fd00::2"), ("192.0.2.1", "192.0.2.7"));
}

#[test]
fn equal_destinations_keep_their_order() {
    let pairs = [("192.0.2.200", "192.0.2.7"), ("192.0.2.6", "192.0.2.7")];
    assert_eq!(
        sorted(&pairs),
        ["192.0.2.200", "192.0.2.6"],
        "no prefix rule for IPv4"
    );
}

#[test]
fn system_knows_the_source_of_loopback() {
    let address = "127.0.0.1:9".parse().unwrap();
    assert_eq!(source_address(address), Some("127.0.0.1".parse().unwrap()));
}
