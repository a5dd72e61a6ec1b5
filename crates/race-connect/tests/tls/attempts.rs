//! Races of attempts with TLS. Times are virtual, unless sockets are used.

use std::{io, time::Duration};

use race_connect::{
    ConnectFailure, HappyEyeballs,
    tokio::{Connector, MaybeTlsStream},
    v3::{
        Discovery, Lookup, Network, Origin, Preferences, Query, RecordType, Records, ServiceRecord,
    },
};
use tokio::{net::TcpListener, time::sleep};

use crate::server::{Addresses, Identity, Net, Peer, echoes};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn starts(net: &Net) -> Vec<(String, u128)> {
    net.starts()
}

fn expected<const N: usize>(starts: [(&str, u128); N]) -> Vec<(String, u128)> {
    starts.map(|(ip, at)| (ip.to_owned(), at)).into()
}

#[tokio::test(start_paused = true)]
async fn peer_that_never_answers_tls_loses_an_attempt_delay_after_its_progress() {
    let identity = Identity::new(&["a.test"], &[]);
    let net = Net::new().peer("192.0.2.1:443", 100, Peer::Silent).peer(
        "192.0.2.2:443",
        20,
        Peer::Echoes(identity.clone()),
    );
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(net.resolver())
        .dial(net.clone())
        .tls(Identity::client(&[&identity]));
    let connected = connector.connect("a.test", 443).await.unwrap();
    assert_eq!(connected.address, "192.0.2.2:443".parse().unwrap());
    assert_eq!(connected.elapsed, ms(370));
    assert_eq!(
        starts(&net),
        expected([("192.0.2.1", 0), ("192.0.2.2", 350)])
    );
    assert!(echoes(connected.connection).await);
}

#[tokio::test]
async fn listener_that_never_answers_tls_loses() {
    let identity = Identity::new(&["a.test"], &[]);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap(); // accepts by its backlog
    let addresses = vec![silent.local_addr().unwrap(), identity.listen().await];
    let settings = HappyEyeballs::new()
        .attempt_delay(ms(50))
        .deadline(Duration::from_secs(60));
    let connector = Connector::new(settings)
        .resolver(Addresses(addresses.clone()))
        .tls(Identity::client(&[&identity]));
    let connected = connector.connect("a.test", 443).await.unwrap();
    assert_eq!(connected.address, addresses[1]);
    assert!(connected.elapsed >= ms(50));
    assert!(matches!(connected.connection, MaybeTlsStream::Tls(_)));
    assert!(echoes(connected.connection).await);
}

#[tokio::test(start_paused = true)]
async fn certificate_of_another_host_is_a_failure_and_the_race_continues() {
    let (right, wrong) = (
        Identity::new(&["a.test"], &[]),
        Identity::new(&["b.test"], &[]),
    );
    let net = Net::new()
        .peer("192.0.2.1:443", 5, Peer::Echoes(wrong.clone()))
        .peer("192.0.2.2:443", 5, Peer::Echoes(right.clone()));
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(net.resolver())
        .dial(net.clone())
        .tls(Identity::client(&[&right, &wrong]));
    let connected = connector.connect("a.test", 443).await.unwrap();
    assert_eq!(connected.address, "192.0.2.2:443".parse().unwrap());
    assert_eq!(
        starts(&net),
        expected([("192.0.2.1", 0), ("192.0.2.2", 10)])
    );

    let error = connector.connect("c.test", 443).await.unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::AllFailed);
    assert_eq!(error.failed().len(), 2);
    let text = error.to_string();
    assert!(
        text.starts_with("cannot connect to c.test:443: 192.0.2.1:443: "),
        "{text}"
    );
    assert!(text.contains("not valid for name"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn attempt_timeout_includes_tls() {
    let net = Net::new().peer("192.0.2.1:443", 100, Peer::Silent);
    let connector = Connector::new(HappyEyeballs::new().attempt_timeout(ms(300)))
        .resolver(net.resolver())
        .dial(net.clone())
        .tls(Identity::client(&[]));
    let began = tokio::time::Instant::now();
    let error = connector.connect("a.test", 443).await.unwrap_err();
    assert_eq!(began.elapsed(), ms(300));
    assert_eq!(error.failed()[0].1.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("192.0.2.1:443: "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn origin_without_tls_is_connected_to_without_it() {
    let net = Net::new().peer("192.0.2.1:80", 5, Peer::Silent);
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(net.resolver())
        .dial(net.clone())
        .tls(Identity::client(&[]));
    let origin = Origin::http("a.test", 80);
    let connected = connector.connect_to(&origin).await.unwrap();
    assert!(matches!(connected.connection, MaybeTlsStream::Plain(_)));
    assert_eq!(connected.elapsed, ms(5));
}

/// HTTPS records with ECH after 200 ms.
struct Late;

impl Lookup for Late {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        Ok(match query.kind {
            RecordType::Https => {
                sleep(ms(200)).await;
                Records::Https(vec![ServiceRecord::service(1, ".").ech([1])])
            }
            RecordType::A => Records::A(vec![[192, 0, 2, 1].into()]),
            RecordType::Aaaa => query.kind.none(),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn tls_waits_for_the_https_records_where_ech_needs_them() {
    let identity = Identity::new(&["a.test"], &[]);
    for (is_protected, connects) in [(false, 60), (true, 200)] {
        let net = Net::new().peer("192.0.2.1:443", 10, Peer::Echoes(identity.clone()));
        let discovery = Discovery::new(Late)
            .preferences(Preferences::new().ech(true))
            .network(Network::dual_stack().protected_dns(is_protected));
        let connector = Connector::new(HappyEyeballs::new())
            .resolver(discovery)
            .dial(net.clone())
            .tls(Identity::client(&[&identity]));
        let connected = connector.connect("a.test", 443).await.unwrap();
        assert_eq!(connected.elapsed, ms(connects));
        assert_eq!(starts(&net), expected([("192.0.2.1", 50)]));
    }
}
