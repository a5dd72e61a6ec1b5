//! QUIC beside TLS: the client of the example, on networks that let UDP pass and that do not.

use std::{
    io,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use race_connect::{
    Connected, HappyEyeballs,
    v3::{Lookup, Origin, Query, RecordType, Records, ServiceRecord, Transport},
};
use tokio::{
    net::{TcpListener, UdpSocket},
    runtime::Runtime,
};

use crate::{
    DELAY, PATIENCE,
    namespace::{HOST, V4, V6, within},
};

#[path = "../../examples/quic/client.rs"]
mod client;
#[path = "../../examples/quic/servers.rs"]
mod servers;

use client::{Client, Connection};

/// An HTTPS record, and these addresses.
#[derive(Clone)]
struct Resolver {
    addresses: Vec<IpAddr>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Lookup for Resolver {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        let v6 = self.addresses.iter().filter_map(|ip| match ip {
            IpAddr::V6(v6) => Some(*v6),
            IpAddr::V4(_) => None,
        });
        let v4 = self.addresses.iter().filter_map(|ip| match ip {
            IpAddr::V4(v4) => Some(*v4),
            IpAddr::V6(_) => None,
        });
        Ok(match query.kind {
            RecordType::Https => {
                self.asked.lock().unwrap().push(query.name.to_string());
                Records::Https(vec![ServiceRecord::service(1, ".").alpn(["h3", "h2"])])
            }
            RecordType::Aaaa => Records::Aaaa(v6.collect()),
            RecordType::A => Records::A(v4.collect()),
        })
    }
}

/// A site whose addresses all serve QUIC and TLS, and a client of it.
pub(crate) struct Site {
    runtime: Runtime,
    client: Client<Resolver>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) const ORIGIN: (&str, u16) = (HOST, 8443);

    pub(crate) fn start(addresses: &[&str], delay: Duration) -> Self {
        let runtime = Runtime::new().unwrap();
        let asked = Arc::default();
        let resolver = Resolver {
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            asked: Arc::clone(&asked),
        };
        let settings = HappyEyeballs::new().attempt_delay(delay);
        let client = runtime.block_on(async {
            let (host, port) = Self::ORIGIN;
            let (server, tls) = servers::certified(&[host]).unwrap();
            for ip in addresses {
                let tcp = TcpListener::bind((*ip, port)).await.unwrap();
                servers::serve_tls(tcp, server.clone());
                let udp = UdpSocket::bind((*ip, port)).await.unwrap();
                servers::serve_quic(udp, server.clone()).unwrap();
            }
            Client::new(settings.deadline(PATIENCE), resolver, tls).unwrap()
        });
        Self {
            runtime,
            client,
            asked,
        }
    }

    pub(crate) fn connect(&self) -> Won {
        let (host, port) = Self::ORIGIN;
        let origin = Origin::https(host, port);
        let connected = self.runtime.block_on(self.client.connect(&origin));
        Won::of(&connected.unwrap())
    }
}

/// Connects to a site this number of times, one after the other.
fn connect(times: usize, addresses: &[&str], delay: Duration) -> Vec<Won> {
    let site = Site::start(addresses, delay);
    let won = (0..times).map(|_| site.connect()).collect();
    let (host, port) = Site::ORIGIN;
    let expected = format!("_{port}._https.{host}");
    assert_eq!(*site.asked.lock().unwrap(), vec![expected; times]);
    won
}

/// A connection, which must be to the address and of the transport that the race says.
pub(crate) struct Won {
    ip: String,
    pub(crate) transport: Transport,
    pub(crate) elapsed: Duration,
}

impl Won {
    fn of(connected: &Connected<Connection>) -> Self {
        let (peer, transport) = match &connected.connection {
            Connection::Quic(quic) => (quic.remote_address(), Transport::Quic),
            Connection::Tls(tls) => (tls.get_ref().0.peer_addr().unwrap(), Transport::Tcp),
        };
        let ip = peer.ip().to_canonical(); // the socket of QUIC is one of IPv6
        assert_eq!(ip, connected.address.ip());
        assert_eq!(transport, connected.transport);
        Self {
            ip: ip.to_string(),
            transport,
            elapsed: connected.elapsed,
        }
    }
}

fn peers(won: &[Won]) -> Vec<(&str, Transport)> {
    won.iter().map(|it| (&*it.ip, it.transport)).collect()
}

#[test]
fn quic_wins_if_it_is_answered() {
    within(
        "quic::quic_wins_if_it_is_answered",
        "route v6; route v4",
        || {
            let longest = *HappyEyeballs::ATTEMPT_DELAYS.end();
            let connections = connect(2, &[V6, V4], longest);
            let expected = (V6, Transport::Quic);
            assert_eq!(peers(&connections), [expected, expected]);
            assert!(connections.iter().all(|it| it.elapsed < longest));
        },
    );
}

#[test]
fn tcp_connects_after_the_delay_if_udp_is_blocked() {
    within(
        "quic::tcp_connects_after_the_delay_if_udp_is_blocked",
        "route v4; drop_udp v4",
        || {
            let connections = connect(1, &[V4], DELAY);
            assert_eq!(peers(&connections), [(V4, Transport::Tcp)]);
            assert!(connections[0].elapsed >= DELAY);
        },
    );
}

#[test]
fn tcp_comes_first_once_udp_was_blocked() {
    within(
        "quic::tcp_comes_first_once_udp_was_blocked",
        "route v4; drop_udp v4",
        || {
            let longest = *HappyEyeballs::ATTEMPT_DELAYS.end();
            let connections = connect(3, &[V4], longest);
            let expected = (V4, Transport::Tcp);
            assert_eq!(peers(&connections), vec![expected; 3]);
            assert!(connections[0].elapsed >= longest);
            let later = &connections[1..];
            assert!(
                later.iter().all(|it| it.elapsed < longest),
                "QUIC came first"
            );
        },
    );
}

#[test]
fn quic_wins_over_v4_if_only_v6_blocks_udp() {
    within(
        "quic::quic_wins_over_v4_if_only_v6_blocks_udp",
        "route v6; route v4; drop_udp v6",
        || {
            let longest = *HappyEyeballs::ATTEMPT_DELAYS.end();
            let connections = connect(1, &[V6, V4], longest);
            assert_eq!(peers(&connections), [(V4, Transport::Quic)]);
            assert!(connections[0].elapsed >= longest);
        },
    );
}

#[test]
fn tls_over_v4_wins_if_udp_is_blocked_and_v6_is_dropped() {
    within(
        "quic::tls_over_v4_wins_if_udp_is_blocked_and_v6_is_dropped",
        "route v6; route v4; drop v6; drop_udp v4",
        || {
            // QUIC over IPv6, QUIC over IPv4, TLS over IPv6: three delays.
            let connections = connect(1, &[V6, V4], DELAY);
            assert_eq!(peers(&connections), [(V4, Transport::Tcp)]);
            assert!(connections[0].elapsed >= DELAY * 3);
        },
    );
}
