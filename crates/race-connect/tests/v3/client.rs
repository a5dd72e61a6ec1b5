//! A client in which a test names queries and answers as text.

use std::time::Duration;

use race_connect::{
    Next,
    v3::{
        Endpoint, Endpoints, Handshake, Name, Network, Origin, Preferences, Protocols, Query,
        QueryFailed, RecordType, Records, Refused, ServiceRecord,
    },
};
use race_core::Moment;

/// A client that has a time, in milliseconds.
pub(crate) struct Client {
    pub(crate) endpoints: Endpoints,
    now: u64,
}

/// One that speaks h3 over QUIC, h2 and http/1.1 over TCP. Shuffles are fixed.
pub(crate) fn preferences() -> Preferences {
    let protocols = Protocols::new().quic(["h3"]);
    Preferences::new().protocols(protocols).seed(1)
}

impl Client {
    pub(crate) fn new(origin: Origin, network: Network, preferences: Preferences) -> Self {
        Self {
            endpoints: Endpoints::new(origin, network, preferences),
            now: 0,
        }
    }

    /// A client of `https://example.com` on a network with both families.
    pub(crate) fn dual_stack() -> Self {
        Self::with(preferences())
    }

    /// The same, with these preferences.
    pub(crate) fn with(preferences: Preferences) -> Self {
        Self::on(Network::dual_stack(), preferences)
    }

    /// A client of `https://example.com`.
    pub(crate) fn on(network: Network, preferences: Preferences) -> Self {
        Self::new(Origin::https("example.com", 443), network, preferences)
    }

    /// The queries to send since the last call.
    pub(crate) fn asks(&mut self) -> Vec<String> {
        let queries = std::iter::from_fn(|| self.endpoints.next_query());
        queries.map(|it| it.to_string()).collect()
    }

    /// Sets the time.
    pub(crate) fn at(&mut self, millis: u64) -> &mut Self {
        assert!(millis >= self.now);
        self.now = millis;
        self
    }

    /// Answers a query such as `example.com AAAA` with addresses, or with records that are
    /// separated by `|`. An empty text is the answer that there are none.
    pub(crate) fn answer(&mut self, query: &str, records: &str) -> &mut Self {
        let query = parse_query(query);
        let records = match query.kind {
            RecordType::Https => {
                let records = records.split('|').filter(|it| !it.trim().is_empty());
                Records::Https(records.map(record).collect())
            }
            RecordType::Aaaa => Records::Aaaa(list(records)),
            RecordType::A => Records::A(list(records)),
        };
        let now = self.moment();
        self.endpoints.answered(&query, Ok(records), now);
        self
    }

    /// Lets a query fail.
    pub(crate) fn fail(&mut self, query: &str) -> &mut Self {
        let now = self.moment();
        self.endpoints
            .answered(&parse_query(query), Err(QueryFailed), now);
        self
    }

    /// What `next` says: the endpoint, `until` a time in milliseconds, `wait` or `over`.
    pub(crate) fn next(&self) -> String {
        match self.endpoints.next(self.moment()) {
            Next::Start(endpoint) => endpoint.to_string(),
            Next::Until(moment) => format!("until {}", moment.as_nanos() / 1_000_000),
            Next::Wait => "wait".to_owned(),
            Next::Over => "over".to_owned(),
            other => panic!("{other:?}"),
        }
    }

    /// Starts the next endpoint.
    #[track_caller]
    pub(crate) fn start(&mut self) -> Endpoint {
        let Next::Start(endpoint) = self.endpoints.next(self.moment()) else {
            panic!("{} is no endpoint", self.next());
        };
        self.endpoints.started(&endpoint);
        endpoint
    }

    /// Starts all that start now, as texts.
    pub(crate) fn start_all(&mut self) -> Vec<String> {
        let mut started = Vec::new();
        while let Next::Start(endpoint) = self.endpoints.next(self.moment()) {
            self.endpoints.started(&endpoint);
            started.push(endpoint.to_string());
        }
        started
    }

    /// The endpoints in their order, as texts.
    pub(crate) fn list(&self) -> Vec<String> {
        let list = self.endpoints.list();
        list.iter().map(ToString::to_string).collect()
    }

    /// The addresses of the endpoints over TCP, without their ports.
    pub(crate) fn ips(&self) -> Vec<String> {
        let list = self.endpoints.list().iter();
        list.filter(|it| it.transport == race_connect::v3::Transport::Tcp)
            .map(|it| it.address.ip().to_string())
            .collect()
    }

    pub(crate) fn refused(&self) -> Option<Refused> {
        self.endpoints.refused()
    }

    pub(crate) fn handshake(&self, endpoint: &Endpoint) -> Handshake {
        self.endpoints.handshake(endpoint)
    }

    fn moment(&self) -> Moment {
        Duration::from_millis(self.now).into()
    }
}

fn parse_query(text: &str) -> Query {
    let (name, kind) = text.split_once(' ').unwrap();
    let kind = match kind {
        "HTTPS" => RecordType::Https,
        "AAAA" => RecordType::Aaaa,
        "A" => RecordType::A,
        other => panic!("{other}"),
    };
    let name = Name::new(name);
    Query {
        name,
        kind,
        is_absolute: false,
    }
}

fn list<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    let items = text.split_whitespace();
    items.map(|it| it.parse().unwrap()).collect()
}

/// Reads a record in a form like that of zone files, such as `1 . alpn=h3,h2 port=8443`; a priority
/// of 0 is an alias. The value of `ech` is its bytes.
pub(crate) fn record(text: &str) -> ServiceRecord {
    let mut words = text.split_whitespace();
    let priority = words.next().unwrap().parse().unwrap();
    let mut record = ServiceRecord::service(priority, words.next().unwrap());
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let values = value.split(',');
        record = match key {
            "alpn" => record.alpn(values),
            "no-default-alpn" => record.no_default_alpn(),
            "port" => record.port(value.parse().unwrap()),
            "ipv4hint" => record.ipv4_hints(values.map(|it| it.parse().unwrap())),
            "ipv6hint" => record.ipv6_hints(values.map(|it| it.parse().unwrap())),
            "ech" => record.ech(value.as_bytes()),
            "mandatory" => record.mandatory(values.map(|it| it.parse().unwrap())),
            other => record.other(other.strip_prefix("key").unwrap().parse().unwrap()),
        };
    }
    record
}
