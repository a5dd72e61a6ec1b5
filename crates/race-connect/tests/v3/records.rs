//! Which HTTPS records are used, and over which transports (RFC 9460, sections 2.4, 7 and 8).

use race_connect::v3::{Preferences, Protocols};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";

/// The list of a client with these preferences, after these records; the host has one address, and
/// so has `svc`.
fn listed_by(preferences: Preferences, records: &str) -> Vec<String> {
    let mut client = Client::with(preferences);
    client.answer(HTTPS, records);
    client
        .answer(AAAA, "2001:db8::1")
        .answer("svc AAAA", "2001:db8::2");
    client.list()
}

fn listed(records: &str) -> Vec<String> {
    listed_by(preferences(), records)
}

/// One address of the host over TCP, as without a record.
const PLAIN: [&str; 1] = ["[2001:db8::1]:443"];
const QUIC: &str = "[2001:db8::1]:443 (QUIC)";

#[test]
fn default_alpn_is_http_1() {
    assert_eq!(listed("1 ."), PLAIN);
    assert_eq!(listed("1 . alpn=h3"), [QUIC, PLAIN[0]]);
    let h2_only = preferences().protocols(Protocols::new().quic(["h3"]).tcp(["h2"]));
    assert_eq!(listed_by(h2_only, "1 . alpn=h3"), [QUIC]);
}

#[test]
fn no_default_alpn_takes_http_1_out() {
    assert_eq!(listed("1 . alpn=h3 no-default-alpn"), [QUIC]);
    assert_eq!(listed("1 . alpn=h3,h2 no-default-alpn"), [QUIC, PLAIN[0]]);
    let named = "1 . alpn=h3,http/1.1 no-default-alpn";
    assert_eq!(listed(named), [QUIC, PLAIN[0]]);
}

#[test]
fn quic_needs_a_common_protocol() {
    assert_eq!(listed("1 . alpn=h2"), PLAIN);
    assert_eq!(listed("1 . alpn=h3-29"), PLAIN);
    assert_eq!(listed_by(Preferences::new(), "1 . alpn=h3"), PLAIN);
}

/// The draft's example: the addresses of such a service are not used over TCP.
#[test]
fn service_without_a_common_protocol_is_not_tried() {
    let records = "1 svc alpn=h3 no-default-alpn ipv6hint=2001:db8::2";
    assert_eq!(listed_by(Preferences::new(), records), PLAIN);
    let other = listed_by(Preferences::new(), &format!("{records} | 2 ."));
    assert_eq!(other, PLAIN);
}

/// RFC 9460, section 7.1.2: all protocols of the transport, whichever the record names.
#[test]
fn handshake_offers_all_protocols_of_the_transport() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "1 . alpn=h3,http/1.1")
        .answer(AAAA, "2001:db8::1");
    let alpn = client.endpoints.list().iter().map(|it| it.alpn.to_vec());
    let expected = [
        vec![b"h3".to_vec()],
        vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    ];
    assert_eq!(alpn.collect::<Vec<_>>(), expected);
}

#[test]
fn record_with_an_unknown_mandatory_key_is_ignored() {
    assert_eq!(listed("1 svc alpn=h3 mandatory=9 key9"), PLAIN);
    assert_eq!(
        listed("1 svc alpn=h3 mandatory=1,9 key9 | 2 . alpn=h3"),
        [QUIC, PLAIN[0]]
    );
}

#[test]
fn unknown_key_that_is_not_mandatory_is_ignored() {
    assert_eq!(listed("1 . alpn=h3 key9"), [QUIC, PLAIN[0]]);
}

#[test]
fn known_mandatory_keys_are_understood() {
    let record = "1 . alpn=h3 no-default-alpn port=443 ipv6hint=2001:db8::1 ipv4hint=192.0.2.1 \
                  mandatory=1,2,3,4,6";
    assert_eq!(listed(record)[0], QUIC);
}

#[test]
fn mandatory_ech_is_understood_by_a_client_that_uses_it() {
    let record = "1 . alpn=h3 ech=one mandatory=5";
    assert_eq!(listed(record), PLAIN);
    assert_eq!(listed_by(preferences().ech(true), record)[0], QUIC);
}

#[test]
fn record_that_contradicts_itself_is_ignored() {
    for record in [
        "1 . alpn=h3 mandatory=3", // is not there
        "1 . alpn=h3 mandatory=0", // names itself
        "1 . alpn=h3 mandatory=5", // is not there either
        "1 . no-default-alpn",     // without alpn
    ] {
        assert_eq!(
            listed_by(preferences().ech(true), record),
            PLAIN,
            "{record}"
        );
    }
    assert_eq!(listed("1 svc no-default-alpn"), PLAIN);
}

#[test]
fn port_of_the_record_is_used_for_both_transports() {
    let expected = ["[2001:db8::2]:8443 (QUIC)", "[2001:db8::2]:8443", PLAIN[0]];
    assert_eq!(listed("1 svc alpn=h3 port=8443"), expected);
}

/// Nothing can be reached there.
#[test]
fn record_with_port_0_is_ignored() {
    assert_eq!(listed("1 svc alpn=h3 port=0"), PLAIN);
}

#[test]
fn dot_is_the_owner_of_the_record() {
    assert_eq!(listed("1 . alpn=h3"), listed("1 example.com alpn=h3"));
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "0 svc")
        .answer("svc HTTPS", "1 . alpn=h3");
    client.answer("svc AAAA", "2001:db8::2");
    assert_eq!(client.next(), "[2001:db8::2]:443 (QUIC)");
    let service = client.start().service.unwrap();
    assert_eq!(service.as_str(), "svc");
}

#[test]
fn plain_addresses_are_used_if_no_record_can_be() {
    assert_eq!(listed(""), PLAIN);
    assert_eq!(
        listed("1 svc mandatory=9 key9 | 2 svc no-default-alpn"),
        PLAIN
    );
}

#[test]
fn at_most_8_names_of_services_are_used() {
    let mut client = Client::dual_stack();
    client.asks();
    let record = |number: u32| format!("{number} svc{number} alpn=h3 ipv6hint=2001:db8::{number}");
    let mut records: Vec<_> = (1..=20).map(record).collect();
    records.push("21 svc3 alpn=h3 port=8443".to_owned());
    client.answer(HTTPS, &records.join("|"));
    let asked: Vec<_> = (1..=8)
        .flat_map(|it| [format!("svc{it} AAAA"), format!("svc{it} A")])
        .collect();
    assert_eq!(client.asks(), asked);
    let quic = client
        .list()
        .into_iter()
        .filter(|it| it.ends_with("(QUIC)"));
    assert_eq!(quic.count(), 8);
    client.answer("svc3 A", "192.0.2.3");
    assert!(
        client.list().contains(&"192.0.2.3:8443 (QUIC)".to_owned()),
        "its name is known"
    );
}

/// The answer of a hostile zone: as many records and addresses as fit into a message.
#[test]
fn huge_answers_are_cut() {
    let records: Vec<_> = (1..=3_000)
        .map(|it| format!("{it} . alpn=h3 port={it}"))
        .collect();
    let addresses: Vec<_> = (1..=4_000).map(|it| format!("2001:db8::{it:x}")).collect();
    let mut client = Client::dual_stack();
    client.answer(AAAA, &addresses.join(" "));
    for _ in 0..3 {
        client.answer(HTTPS, &records.join("|"));
    }
    assert_eq!(client.list().len(), 64);
}
