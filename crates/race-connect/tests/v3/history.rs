//! What a client remembers of addresses.

use std::{net::IpAddr, sync::Arc, time::Duration};

use race_connect::v3::{AddressHistory, Network};

use crate::{
    client::{Client, preferences},
    order::routes,
};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn history(known: &[(&str, u64)]) -> Arc<AddressHistory> {
    let history = AddressHistory::new();
    for (address, millis) in known {
        history.remember(ip(address), ms(*millis));
    }
    Arc::new(history)
}

/// The order of addresses of a client that uses a history.
fn sorted(network: Network, history: &Arc<AddressHistory>, v6: &str, v4: &str) -> Vec<String> {
    let preferences = preferences().history(Some(history.clone()));
    let mut client = Client::on(network, preferences);
    client
        .answer("example.com HTTPS", "")
        .answer("example.com AAAA", v6);
    client.answer("example.com A", v4);
    client.ips()
}

const THREE: &str = "2001:db8::1 2001:db8::2 2001:db8::3";

#[test]
fn fast_addresses_are_before_slow_ones_and_known_before_unknown() {
    let known = history(&[("2001:db8::2", 40), ("2001:db8::3", 20)]);
    let expected = ["2001:db8::3", "2001:db8::2", "2001:db8::1"];
    for network in [Network::dual_stack(), routes(Network::dual_stack(), &[])] {
        assert_eq!(sorted(network, &known, THREE, ""), expected);
    }
}

/// Between rules 8 and 9: a label decides before, a prefix after it.
#[test]
fn history_is_below_rule_8_and_above_rule_9() {
    let network = || routes(Network::dual_stack(), &["2001:db8::1"]);
    let known = history(&[("fd00::1", 1), ("2001:db8::1", 1), ("2001:db9::1", 30)]);
    let v6 = "fd00::1 2001:db8::1 2001:db8:fff0::1 2001:db9::1";
    // Without a route is last, another label is before that, the longest prefix is not first.
    let expected = ["2001:db9::1", "2001:db8:fff0::1", "fd00::1", "2001:db8::1"];
    assert_eq!(sorted(network(), &known, v6, ""), expected);
}

/// Rule 6 prefers IPv6, and it is above the history, also where RFC 6724 is not applied.
#[test]
fn fast_ipv4_address_does_not_come_before_ipv6() {
    let known = history(&[("192.0.2.2", 1)]);
    let v4 = "192.0.2.1 192.0.2.2";
    let expected = ["2001:db8::1", "192.0.2.2", "192.0.2.1"];
    for network in [Network::dual_stack(), routes(Network::dual_stack(), &[])] {
        assert_eq!(sorted(network, &known, "2001:db8::1", v4), expected);
    }
}

#[test]
fn forgotten_addresses_do_not_count() {
    let known = history(&[("2001:db8::3", 20)]);
    assert_eq!(known.handshake(ip("2001:db8::3")), Some(ms(20)));
    known.forget();
    assert_eq!(known.handshake(ip("2001:db8::3")), None);
    let expected = ["2001:db8::1", "2001:db8::2", "2001:db8::3"];
    assert_eq!(sorted(Network::dual_stack(), &known, THREE, ""), expected);
}

#[test]
fn one_connection_in_so_many_ignores_the_history() {
    let known = history(&[("2001:db8::3", 20)]);
    let count = 4 * AddressHistory::FRESH;
    let ignoring = (0..count).filter(|_| {
        let first = sorted(Network::dual_stack(), &known, THREE, "").remove(0);
        first == "2001:db8::1"
    });
    assert_eq!(ignoring.count(), 4);
    assert!(
        known.handshake(ip("2001:db8::3")).is_some(),
        "it is not forgotten"
    );
}

#[test]
fn connections_share_nothing_unless_they_are_given_one_history() {
    history(&[("2001:db8::3", 20)]);
    let other = history(&[]);
    assert_eq!(
        sorted(Network::dual_stack(), &other, THREE, "")[0],
        "2001:db8::1"
    );
}

#[test]
fn later_times_count_for_a_quarter() {
    let known = history(&[("192.0.2.1", 40), ("192.0.2.1", 80)]);
    assert_eq!(known.handshake(ip("192.0.2.1")), Some(ms(50)));
    assert_eq!(known.handshake(ip("::ffff:192.0.2.1")), Some(ms(50)));
}

#[test]
fn extreme_times_are_remembered() {
    let known = AddressHistory::new();
    for _ in 0..3 {
        known.remember(ip("192.0.2.1"), Duration::MAX);
    }
    assert!(known.handshake(ip("192.0.2.1")) > Some(Duration::MAX / 2));
}

#[test]
fn address_that_was_used_least_recently_is_forgotten_first() {
    let known = AddressHistory::new();
    let address = |number: usize| IpAddr::from((number as u128).to_be_bytes());
    for number in 1..=AddressHistory::CAPACITY {
        known.remember(address(number), ms(1));
    }
    known.remember(address(1), ms(1));
    known.remember(address(0x1_0000), ms(1));
    assert!(known.handshake(address(1)).is_some());
    assert!(known.handshake(address(2)).is_none());
    assert!(known.handshake(address(3)).is_some());
}
