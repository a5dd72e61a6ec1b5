use std::{
    collections::{HashSet, VecDeque},
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::Arc,
};

use race_core::Moment;

use super::{
    Endpoint, Name, Nat64Prefix, Network, Origin, Peer, Preferences, Query, RecordType, Records,
    answers::{Address, Answers, NAT64_NAME},
    order,
    services::{Services, State},
};
use crate::{Family, Next};

/// Happy Eyeballs v3 for one origin: a pure state machine.
///
/// It has no socket, no resolver and no clock. Its owner sends the [queries](Self::next_query),
/// reports their [answers](Self::answered), asks for the [`next`](Self::next) endpoint whenever an
/// attempt may start, and reports the endpoint that has [`started`](Self::started). It decides
/// which queries are sent, how long to wait for their answers, and the order of the endpoints.
/// *When* an attempt may start is decided elsewhere, by a [`Stagger`](race_core::Stagger).
///
/// Names of services and endpoints are bounded: 8 names, 64 endpoints. A transport with 32 endpoints
/// or more keeps at least 32 of them. Of each answer, the first 64 addresses count.
///
/// ```
/// use std::time::Duration;
/// use race_connect::{Next, v3::{Endpoints, Network, Origin, Preferences, Protocols, RecordType, Records,
///     ServiceRecord, Transport}};
/// use race_core::Moment;
///
/// let at = |millis| Moment::from(Duration::from_millis(millis));
/// let preferences = Preferences::new().protocols(Protocols::new().quic(["h3"]));
/// let origin = Origin::https("example.com", 443);
/// let mut endpoints = Endpoints::new(origin, Network::dual_stack(), preferences);
/// while let Some(query) = endpoints.next_query() {
///     let records = match query.kind {
///         RecordType::Https => Records::Https(vec![ServiceRecord::service(1, ".").alpn(["h3", "h2"])]),
///         RecordType::Aaaa => Records::Aaaa(vec!["2001:db8::1".parse().unwrap()]),
///         RecordType::A => Records::A(vec![[192, 0, 2, 1].into()]),
///     };
///     endpoints.answered(&query, Ok(records), at(30));
/// }
/// let Next::Start(first) = endpoints.next(at(30)) else { panic!() };
/// assert_eq!(first.address, "[2001:db8::1]:443".parse().unwrap());
/// assert_eq!(first.transport, Transport::Quic);
/// ```
#[derive(Clone, Debug)]
pub struct Endpoints {
    answers: Answers,
    services: Services,
    seed: u64,
    /// Queries that were not taken yet.
    to_ask: VecDeque<Query>,
    asked: HashSet<Query>,
    /// Queries that have no answer.
    open: HashSet<Query>,
    /// The end of the Resolution Delay, which begins with the first address or hint.
    delay_ends: Option<Moment>,
    list: Vec<Endpoint>,
    started: Vec<Peer>,
}

/// A query that failed: it has no answer, as after SERVFAIL, a transport error or a timeout. A name
/// that does not exist, or has no records, is an answer instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryFailed;

/// Why no endpoint starts, whatever the addresses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// An alias in the HTTPS records says that there is no service (RFC 9460, section 2.5.1).
    NoService,
    /// The query for HTTPS records failed, DNS is protected, and the client uses ECH: an attacker
    /// may have suppressed the answer (RFC 9460, section 3.1).
    HttpsQueryFailed,
}

/// Whether the handshake of an attempt may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handshake {
    /// It may, with this `ECHConfigList`.
    Begin(Option<Arc<[u8]>>),
    /// It must wait for the HTTPS records.
    Wait,
    /// It must not: the attempt fails.
    Refused,
}

impl Endpoints {
    /// Begins with the queries of an origin.
    #[must_use]
    pub fn new(origin: Origin, network: Network, mut preferences: Preferences) -> Self {
        let history = preferences.history.take();
        preferences.history = history.filter(|it| it.is_for_next());
        let seed = preferences
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one(()));
        let mut endpoints = Self {
            answers: Answers::new(origin, network.remember_sources(), preferences),
            services: Services::default(),
            seed,
            to_ask: VecDeque::new(),
            asked: HashSet::new(),
            open: HashSet::new(),
            delay_ends: None,
            list: Vec::new(),
            started: Vec::new(),
        };
        endpoints.update();
        endpoints
    }

    /// Takes the next query to send. Ask whenever an answer has been reported: an answer can lead
    /// to more queries.
    pub fn next_query(&mut self) -> Option<Query> {
        self.to_ask.pop_front()
    }

    /// Reports the answer to a query, which arrived at `now`. A later answer to the same query
    /// replaces it: endpoints that have not started and are not in it are taken out. A later
    /// failure changes nothing. Answers of another type, and those to queries that were not made,
    /// are ignored.
    pub fn answered(&mut self, query: &Query, answer: Result<Records, QueryFailed>, now: Moment) {
        if !self.asked.contains(query) {
            return;
        }
        if !self.answers.insert(query, answer) {
            return;
        }
        self.open.remove(query);
        self.update();
        if self.delay_ends.is_none() && self.answers.has_address(&self.services) {
            self.delay_ends = Some(now + self.answers.preferences.resolution_delay);
        }
    }

    /// Returns the endpoint to start now, or how long to wait for one. It may change until an
    /// attempt starts.
    #[must_use]
    pub fn next(&self, now: Moment) -> Next<Endpoint> {
        if self.refused().is_some() || self.started.len() >= order::MAX_ENDPOINTS {
            return Next::Over;
        }
        let mut waiting = self.list.iter().filter(|it| !self.has_started(it));
        let Some(endpoint) = waiting.next() else {
            return match self.open.is_empty() {
                true => Next::Over,
                false => Next::Wait,
            };
        };
        match self.delay_ends {
            Some(ends) if self.started.is_empty() && now < ends && !self.is_ready() => {
                Next::Until(ends)
            }
            _ => Next::Start(endpoint.clone()),
        }
    }

    /// Reports that an attempt starts. The endpoint is not given out again.
    pub fn started(&mut self, endpoint: &Endpoint) {
        if !self.has_started(endpoint) {
            self.started.push(endpoint.peer());
        }
    }

    /// Whether the handshake of an attempt, of TLS or QUIC, may begin.
    ///
    /// It waits for the HTTPS records only if DNS is protected and the client uses ECH. It is
    /// refused if they show that the endpoint must not be used without ECH, or if their query
    /// fails.
    #[must_use]
    pub fn handshake(&self, endpoint: &Endpoint) -> Handshake {
        let now = self.list.iter().find(|it| it.peer() == endpoint.peer());
        match (self.depends_on_https(), self.services.state) {
            (true, State::Pending) => Handshake::Wait,
            _ if self.refused().is_some() => Handshake::Refused,
            _ => match now {
                Some(now) => Handshake::Begin(now.ech.clone()),
                // The attempt continues, although its endpoint was withdrawn.
                None if endpoint.ech.is_some() || !self.services.are_required() => {
                    Handshake::Begin(endpoint.ech.clone())
                }
                None => Handshake::Refused,
            },
        }
    }

    /// Returns why no endpoint starts, if that is so.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        match self.services.state {
            State::NoService => Some(Refused::NoService),
            State::Failed if self.depends_on_https() => Some(Refused::HttpsQueryFailed),
            _ => None,
        }
    }

    /// Returns the endpoints in the order in which to try them, those that have started included.
    #[must_use]
    pub fn list(&self) -> &[Endpoint] {
        &self.list
    }

    /// Returns the prefixes of NAT64s that the network has, as far as is known.
    pub fn nat64(&self) -> impl Iterator<Item = Nat64Prefix> {
        self.answers.prefixes()
    }

    fn has_started(&self, endpoint: &Endpoint) -> bool {
        self.started.contains(&endpoint.peer())
    }

    /// Whether an attacker who suppresses HTTPS records would gain something.
    fn depends_on_https(&self) -> bool {
        self.answers.network.has_protected_dns && self.answers.preferences.uses_ech
    }

    /// Whether attempts may start before the Resolution Delay ends: the HTTPS records are known,
    /// and the preferred family of a name that has addresses.
    fn is_ready(&self) -> bool {
        if self.open.is_empty() {
            return true;
        }
        if self.services.state == State::Pending {
            return false;
        }
        let services = self.services.services.iter();
        let services: Vec<_> = services
            .map(|it| (&it.target, self.answers.of_service(it)))
            .collect();
        let of_name = |name| vec![(name, self.answers.of_name(name, self.answers.origin.port()))];
        let alias = self.services.alias.as_ref().map_or(Vec::new(), of_name);
        let host = of_name(self.answers.origin.host());
        // Addresses of a host are a fallback while those of its services can still arrive.
        for names in [services, alias, host] {
            let mut may_have_addresses = false;
            for (name, addresses) in names {
                if !addresses.is_empty() && self.knows_preferred(name, &addresses) {
                    return true;
                }
                may_have_addresses |= !addresses.is_empty() || !self.is_answered(name);
            }
            if may_have_addresses {
                return false;
            }
        }
        true
    }

    /// Whether the addresses of the preferred family are known, by an answer or by hints.
    fn knows_preferred(&self, name: &Name, addresses: &[Address]) -> bool {
        let preferred = self.preferred();
        let is_hinted = addresses.iter().any(|it| it.family() == preferred);
        is_hinted || self.answers.has(name, preferred)
    }

    /// Whether all addresses of a name have been answered for.
    fn is_answered(&self, name: &Name) -> bool {
        let families = [Family::V6, Family::V4];
        let mut used = families.into_iter().filter(|it| self.answers.uses(*it));
        used.all(|family| self.answers.has(name, family))
    }

    fn preferred(&self) -> Family {
        let preferred = self.answers.preferences.prefer;
        match preferred.filter(|it| self.answers.uses(*it)) {
            Some(family) => family,
            None if self.answers.network.has(Family::V6) => Family::V6,
            None => Family::V4,
        }
    }

    /// Computes anew what follows from the answers, and makes the queries that are missing.
    fn update(&mut self) {
        if self.answers.origin.ip().is_none() {
            self.resolve();
        } else {
            self.discover_nat64();
        }
        self.list = match self.awaits_prefix() {
            true => Vec::new(),
            false => order::endpoints(&self.answers, &self.services),
        };
    }

    /// Whether the host is an IPv4 address that may be behind a prefix which is not known yet.
    fn awaits_prefix(&self) -> bool {
        let query = Query::new(&Name::new(NAT64_NAME), RecordType::Aaaa, true);
        self.answers.origin.ip().is_some() && self.open.contains(&query)
    }

    fn resolve(&mut self) {
        let host = self.answers.origin.host().clone();
        if let Some(first) = self.answers.origin.service_name() {
            let Answers {
                https, preferences, ..
            } = &self.answers;
            self.services = Services::resolve(&first, https, preferences, self.seed);
        }
        for name in self.services.names.clone() {
            self.ask(&name, RecordType::Https);
        }
        let targets = self.services.services.iter().map(|it| it.target.clone());
        let aliases = self.services.alias.iter().cloned();
        let names: Vec<Name> = [host].into_iter().chain(aliases).chain(targets).collect();
        for name in names {
            self.ask_addresses(&name);
        }
        self.discover_nat64();
    }

    fn ask_addresses(&mut self, name: &Name) {
        for (family, kind) in [(Family::V6, RecordType::Aaaa), (Family::V4, RecordType::A)] {
            if self.answers.uses(family) {
                self.ask(name, kind);
            }
        }
    }

    /// The prefix of a network without IPv4 is asked for, unless it is known. An address of another
    /// kind as the host needs none.
    fn discover_nat64(&mut self) {
        let network = &self.answers.network;
        let needs_one = match self.answers.origin.ip().map(|it| it.to_canonical()) {
            Some(IpAddr::V4(v4)) => !Nat64Prefix::is_scoped(v4),
            Some(IpAddr::V6(_)) => false,
            None => true,
        };
        if !network.has(Family::V4) && network.nat64.is_empty() && needs_one {
            self.ask(&Name::new(NAT64_NAME), RecordType::Aaaa);
        }
    }

    fn ask(&mut self, name: &Name, kind: RecordType) {
        let origin = &self.answers.origin;
        let is_given = name == origin.host() || origin.service_name().as_ref() == Some(name);
        let is_relative = is_given && !origin.given().ends_with('.');
        let query = Query::new(name, kind, !is_relative);
        if self.asked.insert(query.clone()) {
            self.open.insert(query.clone());
            self.to_ask.push_back(query);
        }
    }
}
