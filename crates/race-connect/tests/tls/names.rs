//! The names by which certificates are checked.

use std::io;

use race_connect::{
    ConnectError, HappyEyeballs,
    tokio::Connector,
    v3::{Discovery, Lookup, Network, Query, RecordType, Records, ServiceRecord},
};

use crate::server::{Identity, Net, Peer, echoes};

#[tokio::test]
async fn certificate_of_an_address_is_checked_by_the_address() {
    let identity = Identity::new(&["127.0.0.1"], &[]);
    let address = identity.listen().await;
    let connector = Connector::new(HappyEyeballs::new()).tls(Identity::client(&[&identity]));
    let connected = connector.connect("127.0.0.1", address.port()).await;
    assert!(echoes(connected.unwrap().connection).await);

    let other = Identity::new(&["127.0.0.3", "a.test"], &[]);
    let address = other.listen().await;
    let connector = Connector::new(HappyEyeballs::new()).tls(Identity::client(&[&other]));
    let error = connector.connect("127.0.0.1", address.port()).await;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("not valid for name"), "{text}");
}

async fn connect(host: &str, address: &str, name: &str) -> Result<(), ConnectError> {
    let identity = Identity::new(&[name], &[]);
    let net = Net::new().peer(address, 0, Peer::Echoes(identity.clone()));
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(net.resolver())
        .dial(net)
        .tls(Identity::client(&[&identity]));
    connector.connect(host, 443).await.map(|_| ())
}

#[tokio::test]
async fn dot_at_the_end_of_a_name_and_capitals_do_not_matter() {
    connect("A.test.", "192.0.2.1:443", "a.test").await.unwrap();
}

/// A zone has a meaning on this host only.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn zone_of_an_address_is_not_a_part_of_its_name() {
    connect("fe80::1%lo", "[fe80::1]:443", "fe80::1")
        .await
        .unwrap();
}

#[tokio::test]
async fn name_that_no_certificate_can_have_is_a_failure() {
    let error = connect("a test", "192.0.2.1:443", "a.test").await;
    let error = error.unwrap_err();
    assert_eq!(error.failed()[0].1.kind(), io::ErrorKind::InvalidInput);
}

/// Names a service elsewhere.
struct Elsewhere;

impl Lookup for Elsewhere {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        Ok(match (query.name.as_str(), query.kind) {
            ("a.test", RecordType::Https) => {
                Records::Https(vec![ServiceRecord::service(1, "b.test").port(8_443)])
            }
            ("b.test", RecordType::A) => Records::A(vec![[192, 0, 2, 1].into()]),
            (_, kind) => kind.none(),
        })
    }
}

/// RFC 9460, section 9.1: the client checks the name of the origin.
#[tokio::test]
async fn certificate_of_a_service_is_checked_by_the_host_of_the_origin() {
    for (name, is_right) in [("a.test", true), ("b.test", false)] {
        let identity = Identity::new(&[name], &[]);
        let net = Net::new().peer("192.0.2.1:8443", 0, Peer::Echoes(identity.clone()));
        let discovery = Discovery::new(Elsewhere).network(Network::dual_stack());
        let connector = Connector::new(HappyEyeballs::new())
            .resolver(discovery)
            .dial(net)
            .tls(Identity::client(&[&identity]));
        let connected = connector.connect("a.test", 443).await;
        assert_eq!(connected.is_ok(), is_right, "{name}");
    }
}
