//! The text representation of prefixes and addresses (RFC 6052, section 2.4).

use std::net::{Ipv4Addr, Ipv6Addr};

use race_connect::v3::Nat64Prefix;

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);

/// The prefix, its length, and the address behind it.
const TABLE: [(&str, u8, &str); 7] = [
    ("2001:db8::", 32, "2001:db8:c000:221::"),
    ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
    ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
    ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
    ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
    ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
    ("64:ff9b::", 96, "64:ff9b::192.0.2.33"),
];

#[test]
fn examples_of_rfc_6052() {
    for (prefix, length, synthesized) in TABLE {
        let prefix = Nat64Prefix::new(ip(prefix), length).unwrap();
        assert_eq!(
            prefix.synthesize(ADDRESS),
            Some(ip(synthesized)),
            "{prefix}"
        );
        assert_eq!(prefix.extract(ip(synthesized)), Some(ADDRESS), "{prefix}");
        let other = ip("2001:dbf:1c0:2:21::");
        assert_eq!(prefix.extract(other), None, "it is not behind {prefix}");
    }
    let well_known = Nat64Prefix::new(ip("64:ff9b::"), 96);
    assert_eq!(well_known, Some(Nat64Prefix::WELL_KNOWN));
}

#[test]
fn what_is_behind_the_prefix_is_ignored() {
    for (_, length, synthesized) in TABLE {
        let prefix = Nat64Prefix::new(ip(synthesized), length).unwrap();
        assert_eq!(prefix.synthesize(ADDRESS), Some(ip(synthesized)));
    }
}

#[test]
fn other_lengths_and_reserved_bits_are_refused() {
    for length in [0, 8, 31, 33, 63, 72, 95, 97, 128, 255] {
        assert_eq!(
            Nat64Prefix::new(ip("2001:db8::"), length),
            None,
            "/{length}"
        );
    }
    assert_eq!(Nat64Prefix::new(ip("2001:db8:0:0:100::"), 96), None);
    let prefix = Nat64Prefix::new(ip("2001:db8:122:344::"), 64).unwrap();
    assert_eq!(prefix.extract(ip("2001:db8:122:344:1c0:2:2100::")), None);
}

#[test]
fn scoped_addresses_are_never_synthesized() {
    for text in [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.1",
        "169.254.255.255",
        "224.0.0.1",
        "255.255.255.255",
    ] {
        for (prefix, length, _) in TABLE {
            let prefix = Nat64Prefix::new(ip(prefix), length).unwrap();
            assert_eq!(prefix.synthesize(text.parse().unwrap()), None, "{text}");
        }
    }
}

#[test]
fn private_addresses_are_not_behind_the_well_known_prefix() {
    let own = Nat64Prefix::new(ip("2001:db8::"), 96).unwrap();
    for text in ["10.0.0.1", "172.16.0.1", "192.168.0.1"] {
        let address = text.parse().unwrap();
        assert_eq!(Nat64Prefix::WELL_KNOWN.synthesize(address), None, "{text}");
        assert!(own.synthesize(address).is_some(), "{text}");
    }
}

fn discovered(addresses: &[&str]) -> Vec<String> {
    let addresses: Vec<_> = addresses.iter().map(|it| ip(it)).collect();
    let prefixes = Nat64Prefix::discover(&addresses);
    prefixes.iter().map(ToString::to_string).collect()
}

#[test]
fn each_length_is_discovered() {
    for (prefix, length, _) in TABLE {
        let prefix = Nat64Prefix::new(ip(prefix), length).unwrap();
        let of = |last| {
            prefix
                .synthesize([192, 0, 0, last].into())
                .unwrap()
                .to_string()
        };
        assert_eq!(discovered(&[&of(170), &of(171)]), [prefix.to_string()]);
        assert_eq!(discovered(&[&of(171)]), [prefix.to_string()]);
    }
}

#[test]
fn two_prefixes_are_discovered() {
    let addresses = ["64:ff9b::192.0.0.170", "2001:db8:1::192.0.0.170"];
    assert_eq!(discovered(&addresses), ["64:ff9b::/96", "2001:db8:1::/96"]);
}

#[test]
fn other_addresses_show_no_prefix() {
    assert!(discovered(&[]).is_empty());
    assert!(discovered(&["2001:db8::1", "64:ff9b::192.0.0.172"]).is_empty());
}

/// A prefix that has one of the two addresses in it: the other one tells where it ends (RFC 7050,
/// section 3).
#[test]
fn prefix_that_contains_one_of_the_addresses_is_discovered() {
    let addresses = [
        "2001:db8:c000:aa::192.0.0.170",
        "2001:db8:c000:aa::192.0.0.171",
    ];
    assert_eq!(discovered(&addresses), ["2001:db8:c000:aa::/96"]);
    let addresses = [
        "2001:db8:c000:ab::192.0.0.170",
        "2001:db8:c000:ab::192.0.0.171",
    ];
    assert_eq!(discovered(&addresses), ["2001:db8:c000:ab::/96"]);
}
