//! A host with a resolver that answers over time, and endpoints that connect or do not.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use race_connect::{
    ConnectError, Connected, Destination, HappyEyeballs,
    race_core::test::VirtualClock,
    v3::{
        Discovery, Lookup, Network, Origin, Peer, Preferences, Protocols, Query, Records,
        ServiceRecord, Transport,
    },
};

/// Never ends.
pub(crate) const HANGS: u64 = u64::MAX;

pub(crate) const REFUSED: Result<(), io::ErrorKind> = Err(io::ErrorKind::ConnectionRefused);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The answer to a query.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Https(Vec<ServiceRecord>),
    /// Letters of hosts: "a" is 2001:db8::61 or 192.0.2.97.
    Aaaa(&'static str),
    A(&'static str),
    Fails(io::ErrorKind),
}

/// A query, how long its answer takes, and the answer. The name of an absolute query has a dot at
/// its end.
pub(crate) type Answer = (&'static str, u64, Reply);

/// An endpoint, how long its attempt takes, and what it comes to. "Q6a" is 2001:db8::61 over QUIC,
/// "T4b" is 192.0.2.98 over TCP; a port other than 443 follows.
pub(crate) type Dial = (&'static str, u64, Result<(), io::ErrorKind>);

#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) clock: VirtualClock,
    answers: Arc<[Answer]>,
    dials: Arc<[Dial]>,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    queries: Vec<(String, u64)>,
    starts: Vec<(String, u64)>,
    /// Queries, attempts and connections that were dropped.
    dropped: Vec<(String, u64)>,
}

/// A query, an attempt or a connection that records its end.
pub(crate) struct Guard {
    name: String,
    host: Host,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let entry = (self.name.clone(), self.host.millis());
        self.host.log.lock().unwrap().dropped.push(entry);
    }
}

impl Lookup for Host {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        let dot = if query.is_absolute { "." } else { "" };
        let name = format!("{}{dot} {}", query.name, query.kind);
        let guard = self.guard(&name);
        self.log
            .lock()
            .unwrap()
            .queries
            .push((name.clone(), self.millis()));
        let answer = self.answers.iter().find(|it| it.0 == name);
        let (_, latency, reply) = answer.unwrap_or_else(|| panic!("no answer for {name}"));
        self.wait(*latency).await;
        drop(guard);
        reply.clone().records()
    }
}

impl Reply {
    pub(crate) fn records(self) -> io::Result<Records> {
        match self {
            Self::Https(records) => Ok(Records::Https(records)),
            Self::Aaaa(hosts) => Ok(Records::Aaaa(hosts.bytes().map(ipv6).collect())),
            Self::A(hosts) => Ok(Records::A(hosts.bytes().map(ipv4).collect())),
            Self::Fails(kind) => Err(io::Error::new(kind, "SERVFAIL")),
        }
    }
}

fn ipv6(host: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(host))
}

fn ipv4(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, host)
}

/// The name of an endpoint in the tests.
pub(crate) fn name(peer: Peer) -> String {
    let transport = match peer.transport {
        Transport::Quic => 'Q',
        Transport::Tcp => 'T',
    };
    let letter = (b'a'..=b'z').find_map(|host| {
        let letter = char::from(host);
        match peer.address.ip() {
            ip if ip == ipv6(host) => Some(format!("6{letter}")),
            ip if ip == ipv4(host) => Some(format!("4{letter}")),
            _ => None,
        }
    });
    let host = letter.unwrap_or_else(|| format!("{} ", peer.address.ip()));
    match peer.address.port() {
        443 => format!("{transport}{host}"),
        port => format!("{transport}{host}:{port}"),
    }
}

/// The address of a name such as "6a".
pub(crate) fn address(name: &str) -> SocketAddr {
    let host = name.as_bytes()[1];
    match name.starts_with('6') {
        true => (ipv6(host), 443).into(),
        false => (ipv4(host), 443).into(),
    }
}

/// HTTPS 1 . alpn=h3,h2
pub(crate) fn h3() -> Reply {
    Reply::Https(vec![ServiceRecord::service(1, ".").alpn(["h3", "h2"])])
}

/// A client that speaks HTTP/3, on a network with both families.
pub(crate) fn preferences() -> Preferences {
    Preferences::new().protocols(Protocols::new().quic(["h3"]))
}

pub(crate) fn origin() -> Origin {
    Origin::https("a.test", 443)
}

impl Host {
    pub(crate) fn new(
        answers: impl IntoIterator<Item = Answer>,
        dials: impl IntoIterator<Item = Dial>,
    ) -> Self {
        Self {
            clock: VirtualClock::new(),
            answers: answers.into_iter().collect(),
            dials: dials.into_iter().collect(),
            log: Arc::default(),
        }
    }

    pub(crate) fn millis(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    fn guard(&self, name: &str) -> Guard {
        Guard {
            name: name.to_owned(),
            host: self.clone(),
        }
    }

    pub(crate) async fn wait(&self, latency: u64) {
        match latency {
            HANGS => std::future::pending().await,
            latency => self.clock.sleep(ms(latency)).await,
        }
    }

    pub(crate) fn discovery(&self) -> Discovery<Self> {
        Discovery::new(self.clone())
            .preferences(preferences())
            .network(Network::dual_stack())
    }

    /// Connects with the default settings.
    pub(crate) fn connect(&self) -> Result<Connected<Guard>, ConnectError> {
        self.connect_by(&HappyEyeballs::new(), &self.discovery())
    }

    pub(crate) fn connect_by<L: Lookup>(
        &self,
        settings: &HappyEyeballs,
        discovery: &Discovery<L>,
    ) -> Result<Connected<Guard>, ConnectError> {
        self.connect_with(settings, discovery, &origin(), |_| async { Ok(()) })
    }

    /// The same for an origin; each attempt continues with a handshake.
    pub(crate) fn connect_with<L: Lookup, F: Future<Output = io::Result<()>>>(
        &self,
        settings: &HappyEyeballs,
        discovery: &Discovery<L>,
        origin: &Origin,
        handshake: impl Fn(Destination) -> F,
    ) -> Result<Connected<Guard>, ConnectError> {
        let dial = |to: Destination| {
            let name = name(to.endpoint.peer());
            let started = (name.clone(), self.millis());
            self.log.lock().unwrap().starts.push(started);
            let dial = self.dials.iter().find(|it| it.0 == name);
            let &(_, latency, result) = dial.unwrap_or_else(|| panic!("{name} has no dial"));
            let (connection, handshake) = (self.guard(&name), &handshake);
            async move {
                self.wait(latency).await;
                result?;
                handshake(to).await?;
                Ok(connection)
            }
        };
        let race = settings.race_endpoints(self.clock.timer(), discovery, origin, dial);
        self.clock.run(race).unwrap()
    }

    /// When attempts started, since the last call.
    pub(crate) fn starts(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut self.log.lock().unwrap().starts)
    }

    /// The first attempt since the last call of this and of `starts`.
    pub(crate) fn first_start(&self) -> String {
        self.starts().swap_remove(0).0
    }

    /// When queries were sent.
    pub(crate) fn queries(&self) -> Vec<(String, u64)> {
        self.log.lock().unwrap().queries.clone()
    }

    /// What was dropped, and when.
    pub(crate) fn dropped(&self) -> Vec<(String, u64)> {
        self.log.lock().unwrap().dropped.clone()
    }
}

/// Compares names and times.
#[track_caller]
pub(crate) fn assert_log(log: &[(String, u64)], expected: &[(&str, u64)]) {
    let log: Vec<_> = log.iter().map(|(name, at)| (name.as_str(), *at)).collect();
    assert_eq!(log, expected);
}
