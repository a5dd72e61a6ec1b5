//! Hosts that are not plain names.

use std::io;

use race_connect::{
    ConnectFailure, HappyEyeballs,
    tokio::Connector,
    v3::{Nat64Prefix, Network, Origin},
};

use crate::host::{Host, Reply, assert_log, h3, preferences};

fn connect(host: &Host, origin: &Origin) -> Result<(), race_connect::ConnectError> {
    let settings = HappyEyeballs::new();
    host.connect_with(&settings, &host.discovery(), origin, |_| async { Ok(()) })
        .map(|_| ())
}

#[test]
fn address_is_not_asked_for() {
    let host = Host::new([], [("T4a", 5, Ok(())), ("T6a:8443", 5, Ok(()))]);
    connect(&host, &Origin::https("192.0.2.97", 443)).unwrap();
    connect(&host, &Origin::https("[2001:db8::61]", 8_443)).unwrap();
    assert_log(&host.starts(), &[("T4a", 0), ("T6a:8443", 5)]);
    assert!(host.queries().is_empty());
}

#[test]
fn ipv4_address_is_reached_through_a_nat64() {
    let host = Host::new([], [("T64:ff9b::c000:261 ", 5, Ok(()))]);
    let network = Network::ipv6_only().nat64(Nat64Prefix::WELL_KNOWN);
    let discovery = host.discovery().network(network);
    let origin = Origin::https("192.0.2.97", 443);
    host.connect_with(&HappyEyeballs::new(), &discovery, &origin, |_| async {
        Ok(())
    })
    .unwrap();
}

#[test]
fn name_with_a_dot_at_its_end_is_absolute() {
    let host = Host::new(
        [
            ("_8443._https.a.test. HTTPS", 5, h3()),
            ("a.test. AAAA", 5, Reply::Aaaa("")),
            ("a.test. A", 5, Reply::A("a")),
            ("_8443._https.a.test. AAAA", 5, Reply::Aaaa("")),
            ("_8443._https.a.test. A", 5, Reply::A("a")),
        ],
        [("Q4a:8443", 5, Ok(()))],
    );
    connect(&host, &Origin::https("a.test.", 8_443)).unwrap();
    assert_log(
        &host.queries()[..3],
        &[
            ("_8443._https.a.test. HTTPS", 0),
            ("a.test. AAAA", 0),
            ("a.test. A", 0),
        ],
    );
}

#[test]
fn empty_host_is_an_error_and_nothing_is_asked() {
    let host = Host::new([], []);
    let error = connect(&host, &Origin::https("", 443)).unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::NotResolved);
    let text = "cannot resolve :443: resolver: the name of the host is empty";
    assert_eq!(error.to_string(), text);
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidInput);
    assert!(host.queries().is_empty());
}

/// Only the system knows the zones of a host.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn connector_lets_the_system_resolve_a_zone() {
    let host = Host::new([], []);
    let discovery = race_connect::v3::Discovery::new(host.clone()).preferences(preferences());
    let connector = Connector::new(HappyEyeballs::new()).resolver(discovery);
    let error = match connector.connect("fe80::1%lo", 1).await {
        Ok(connected) => panic!("{:?}", connected.address),
        Err(error) => error,
    };
    assert!(error.to_string().contains("[fe80::1%lo]:1"), "{error}");
    assert_eq!(error.failed()[0].0.address.port(), 1);
    assert!(host.queries().is_empty());
}
