//! A network without IPv4. Its NAT64 is this host: the prefix is a local route.

use std::{
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use race_connect::{
    ConnectError, Connected, HappyEyeballs,
    hickory_resolver::proto::rr::RecordType,
    tokio::Connector,
    v3::{Discovery, Nat64Prefix, Network},
};
use tokio::{net::TcpStream, runtime::Runtime};

use crate::{
    PATIENCE,
    name_server::{self, Reply, address},
    namespace::within,
};

/// No IPv4 but that of loopback, a default route of IPv6, and the well-known prefix.
const NAT64: &str = "no_v4; route v6; ip -6 route add local 64:ff9b::/96 dev lo";

/// A host with an IPv4 address only.
const V4_ONLY: &str = "v4only.test";

/// The same host, with an IPv6 address that a DNS64 has synthesized.
const WITH_DNS64: &str = "dns64.test";

const SYNTHESIZED: &str = "64:ff9b::c000:204"; // 192.0.2.4

fn reply(name: &str, kind: RecordType) -> Option<Reply> {
    let addresses: &[&str] = match (name, kind) {
        (V4_ONLY | WITH_DNS64, RecordType::A) => &["192.0.2.4"],
        (WITH_DNS64, RecordType::AAAA) => &[SYNTHESIZED],
        ("ipv4only.arpa", RecordType::AAAA) => &["64:ff9b::c000:aa", "64:ff9b::c000:ab"],
        _ => &[],
    };
    Reply::now(addresses.iter().map(|ip| address(ip)).collect())
}

/// Listens on all addresses of this host, IPv4 included.
fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("[::]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Connects on the network that is detected, or on one that the caller describes.
fn try_connect(
    host: &str,
    port: u16,
    network: Option<Network>,
) -> Result<Connected<TcpStream>, ConnectError> {
    Runtime::new().unwrap().block_on(async {
        let mut discovery = Discovery::new(name_server::start(reply).await);
        if let Some(network) = network {
            discovery = discovery.network(network);
        }
        let settings = HappyEyeballs::new().deadline(PATIENCE);
        let connector = Connector::new(settings).resolver(discovery);
        connector.connect(host, port).await
    })
}

fn connect(host: &str, port: u16, network: Option<Network>) -> Connected<TcpStream> {
    try_connect(host, port, network).unwrap()
}

fn synthesized(port: u16) -> SocketAddr {
    SocketAddr::new(SYNTHESIZED.parse().unwrap(), port)
}

#[test]
fn v4_host_connects_over_a_discovered_prefix() {
    within(
        "nat64::v4_host_connects_over_a_discovered_prefix",
        NAT64,
        || {
            let (_server, port) = listen();
            assert_eq!(connect(V4_ONLY, port, None).address, synthesized(port));
        },
    );
}

#[test]
fn v4_host_connects_over_a_prefix_that_the_caller_knows() {
    within(
        "nat64::v4_host_connects_over_a_prefix_that_the_caller_knows",
        NAT64,
        || {
            let (_server, port) = listen();
            let network = Network::detect().nat64(Nat64Prefix::WELL_KNOWN);
            let connected = connect(V4_ONLY, port, Some(network));
            assert_eq!(connected.address, synthesized(port));
        },
    );
}

#[test]
fn address_of_a_dns64_is_the_same_endpoint_as_the_v4_address() {
    within(
        "nat64::address_of_a_dns64_is_the_same_endpoint_as_the_v4_address",
        NAT64,
        || {
            let (server, port) = listen();
            assert_eq!(connect(WITH_DNS64, port, None).address, synthesized(port));
            drop(server);
            let error = try_connect(WITH_DNS64, port, None).unwrap_err();
            let failed: Vec<_> = error
                .failed()
                .iter()
                .map(|(peer, _)| peer.address)
                .collect();
            assert_eq!(failed, [synthesized(port)]);
        },
    );
}

#[test]
fn v4_literal_connects_over_the_prefix() {
    within("nat64::v4_literal_connects_over_the_prefix", NAT64, || {
        let (_server, port) = listen();
        assert_eq!(connect("192.0.2.4", port, None).address, synthesized(port));
    });
}

#[test]
fn loopback_literal_is_not_synthesized() {
    within("nat64::loopback_literal_is_not_synthesized", NAT64, || {
        let (_server, port) = listen();
        let connected = connect("127.0.0.1", port, None);
        assert_eq!(connected.address, ([127, 0, 0, 1], port).into());
        assert_eq!(connected.connection.peer_addr().unwrap(), connected.address);
    });
}

#[test]
fn dead_translator_does_not_delay_v6() {
    let network = "no_v4; route v6; ip -6 route add local 64:ff9b::/96 dev lo; \
                   nft add rule inet test input ip6 daddr 64:ff9b::/96 drop";
    within("nat64::dead_translator_does_not_delay_v6", network, || {
        let (_server, port) = listen();
        // IPv6 sorts before the IPv4 address behind the translator, and connects at once.
        let longest = *HappyEyeballs::ATTEMPT_DELAYS.end();
        let elapsed = Runtime::new().unwrap().block_on(async {
            let resolver = name_server::start(|_, kind| match kind {
                RecordType::A => Reply::now(vec![address("192.0.2.4")]),
                RecordType::AAAA => Reply::now(vec![address(crate::namespace::V6)]),
                _ => Reply::now(Vec::new()),
            });
            let discovery = Discovery::new(resolver.await);
            let settings = HappyEyeballs::new().attempt_delay(longest);
            let connector = Connector::new(settings).resolver(discovery);
            let connected = connector.connect("dual.test", port).await.unwrap();
            assert_eq!(connected.address.ip().to_string(), crate::namespace::V6);
            connected.elapsed
        });
        assert!(elapsed < longest - Duration::from_millis(1), "{elapsed:?}");
    });
}
