//! One random case.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use race_connect::{
    Next,
    v3::{
        Endpoint, Endpoints, Handshake, Name, Query, QueryFailed, RecordType, Records, Refused,
        Transport,
    },
};
use race_core::Moment;

use super::{
    Draw,
    case::{Case, PREFIXES},
    definition::{Choices, Definition, Known, State, Tried, define},
    zone,
};

struct Run {
    draw: Draw,
    case: Case,
    endpoints: Endpoints,
    known: Known,
    now: u64,
    /// When the first address or hint arrived; `None` in it if that depends on a choice.
    first_address: Option<Option<u64>>,
    asked: Vec<Query>,
    open: Vec<Query>,
    started: Vec<Endpoint>,
    /// What zones say, so that most repeated answers are equal.
    zone: HashMap<Query, Records>,
}

pub(crate) fn run(seed: u64) {
    let mut draw = Draw::new(seed);
    let case = Case::draw(&mut draw);
    let endpoints = Endpoints::new(case.origin(), case.network(), case.preferences());
    let mut run = Run {
        draw,
        case,
        endpoints,
        known: Known::default(),
        now: 0,
        first_address: None,
        asked: Vec::new(),
        open: Vec::new(),
        started: Vec::new(),
        zone: HashMap::new(),
    };
    run.check();
    for _ in 0..8 + run.draw.below(24) {
        run.step();
    }
    run.end();
}

impl Run {
    fn step(&mut self) {
        match self.draw.below(8) {
            0 | 1 => {
                self.now += self.draw.below(40) as u64;
                self.check_next();
            }
            2 => self.start(),
            3 if !self.asked.is_empty() => {
                let query = self.draw.of(&self.asked);
                self.answer(&query);
            }
            _ if !self.open.is_empty() => {
                let query = self.draw.of(&self.open);
                self.answer(&query);
            }
            _ => {}
        }
    }

    /// All that is open fails, and all that can start does.
    fn end(&mut self) {
        while let Some(query) = self.open.last().cloned() {
            self.report(&query, None);
        }
        self.now += self.case.delay;
        let is_refused = self.endpoints.refused().is_some();
        let waiting = self
            .endpoints
            .list()
            .iter()
            .filter(|it| !self.has_started(it));
        let expected = match is_refused {
            true => 0,
            false => waiting.count().min(64 - self.started.len()),
        };
        let before = self.started.len();
        for _ in 0..65 {
            self.start();
        }
        let context = self.context();
        assert_eq!(self.started.len() - before, expected, "{context}");
        let next = self.endpoints.next(self.moment());
        assert_eq!(next, Next::Over, "{context}");
    }

    fn start(&mut self) {
        if let Next::Start(endpoint) = self.endpoints.next(self.moment()) {
            assert!(!self.has_started(&endpoint), "{endpoint} starts twice");
            self.endpoints.started(&endpoint);
            self.started.push(endpoint);
            assert!(self.started.len() <= 64);
        }
        self.check_next();
    }

    fn answer(&mut self, query: &Query) {
        if self.draw.one_in(8) {
            return self.report(query, None);
        }
        let keeps = !self.draw.one_in(4);
        let records = match self.zone.get(query).filter(|_| keeps) {
            Some(records) => records.clone(),
            None => self.records(query),
        };
        self.zone.insert(query.clone(), records.clone());
        self.report(query, Some(records));
    }

    /// Draws the answer to a query of addresses. HTTPS records are drawn when they are reported.
    fn records(&mut self, query: &Query) -> Records {
        let draw = &mut self.draw;
        match query.kind {
            RecordType::Https => Records::Https(Vec::new()),
            RecordType::Aaaa if query.name.as_str() == "ipv4only.arpa" => {
                let mut ips = Vec::new();
                for prefix in PREFIXES {
                    if draw.one_in(2) {
                        ips.push((prefix.to_bits() | 0xc000_00aa).into());
                        ips.push((prefix.to_bits() | 0xc000_00ab).into());
                    }
                }
                Records::Aaaa(ips)
            }
            RecordType::Aaaa => Records::Aaaa(zone::ipv6(draw, self.case.addresses)),
            RecordType::A => Records::A(zone::ipv4(draw, self.case.addresses)),
        }
    }

    fn report(&mut self, query: &Query, records: Option<Records>) {
        let name = query.name.as_str().to_owned();
        let mut answer = records.ok_or(QueryFailed);
        match (query.kind, &answer) {
            (RecordType::Https, Ok(_)) => {
                let owner = name.strip_prefix('n').and_then(|it| it.split('.').next());
                let owner = owner.and_then(|it| it.parse().ok()).unwrap_or(0);
                let records = zone::https(&mut self.draw, self.case.shape, owner);
                let built = records.iter().map(zone::Record::build);
                answer = Ok(Records::Https(built.collect()));
                self.known.https.insert(name, Ok(records));
            }
            (RecordType::Https, Err(_)) => {
                self.known.https.entry(name).or_insert(Err(()));
            }
            (RecordType::Aaaa, answer) if name == "ipv4only.arpa" => {
                if let Ok(Records::Aaaa(ips)) = answer {
                    let shown = |it: &&std::net::Ipv6Addr| {
                        ips.iter()
                            .any(|ip| ip.segments()[..6] == it.segments()[..6])
                    };
                    self.known.discovered = PREFIXES.iter().filter(shown).copied().collect();
                }
                self.known.v6.insert(name, Err(()));
            }
            (_, Ok(Records::Aaaa(ips))) => {
                self.known.v6.insert(name, Ok(ips.clone()));
            }
            (_, Ok(Records::A(ips))) => {
                self.known.v4.insert(name, Ok(ips.clone()));
            }
            (RecordType::Aaaa, _) => {
                self.known.v6.entry(name).or_insert(Err(()));
            }
            (RecordType::A, _) => {
                self.known.v4.entry(name).or_insert(Err(()));
            }
        }
        self.endpoints.answered(query, answer, self.moment());
        self.open.retain(|it| it != query);
        self.check();
    }

    /// Compares queries, endpoints and state with each way that chance can turn.
    fn check(&mut self) {
        let new: Vec<Query> = std::iter::from_fn(|| self.endpoints.next_query()).collect();
        for query in &new {
            assert!(!self.asked.contains(query), "{query} is asked twice");
        }
        let mut choices = Choices::default();
        let mut matching = Vec::new();
        loop {
            let definition = define(&self.case, &self.known, &mut choices);
            if self.matches(&definition, &new) {
                matching.push(definition);
            }
            if !choices.advance() {
                break;
            }
        }
        let asked: Vec<_> = new.iter().map(ToString::to_string).collect();
        let context = self.context();
        assert!(!matching.is_empty(), "asks {asked:?}, {context}");
        self.asked.extend(new.iter().cloned());
        self.open.extend(new);
        if self.first_address.is_none() && self.case.literal.is_none() {
            let has = matching.iter().filter(|it| it.has_address).count();
            if has > 0 {
                let is_certain = has == matching.len();
                self.first_address = Some(is_certain.then_some(self.now));
            }
        }
        self.check_next();
        self.check_invariants();
        if let [definition] = &*matching {
            self.check_handshakes(definition);
        }
    }

    fn matches(&self, definition: &Definition, new: &[Query]) -> bool {
        let query = |(name, kind): &(String, RecordType)| Query {
            name: Name::new(name),
            kind: *kind,
            is_absolute: false,
        };
        let needed: HashSet<_> = definition.needed.iter().map(query).collect();
        let missing = needed.iter().filter(|it| !self.asked.contains(it)).count();
        let list = self.endpoints.list().iter().map(tried);
        missing == new.len()
            && new.iter().all(|it| needed.contains(it))
            && list.eq(definition.list.iter().cloned())
            && self.endpoints.refused() == self.refused(definition)
    }

    fn depends_on_https(&self) -> bool {
        self.case.is_protected && self.case.ech
    }

    fn refused(&self, definition: &Definition) -> Option<Refused> {
        match definition.state {
            State::NoService => Some(Refused::NoService),
            State::Failed if self.depends_on_https() => Some(Refused::HttpsQueryFailed),
            _ => None,
        }
    }

    fn check_next(&self) {
        let next = self.endpoints.next(self.moment());
        let mut list = self.endpoints.list().iter();
        let first = list.find(|it| !self.has_started(it));
        let is_over = self.endpoints.refused().is_some() || self.started.len() == 64;
        let delay_ends = match self.first_address {
            Some(Some(at)) => Some(at + self.case.delay),
            Some(None) => return,
            None => None,
        };
        let is_free = !self.started.is_empty() || self.open.is_empty();
        let expected = match (first, delay_ends) {
            _ if is_over => vec![Next::Over],
            (None, _) if self.open.is_empty() => vec![Next::Over],
            (None, _) => vec![Next::Wait],
            (Some(first), Some(ends)) if self.now < ends && !is_free => {
                let until = Next::Until(Duration::from_millis(ends).into());
                let ready = self.readiness();
                let waits = ready.contains(&false).then_some(until);
                let starts = ready.contains(&true).then(|| Next::Start(first.clone()));
                waits.into_iter().chain(starts).collect()
            }
            (Some(first), _) => vec![Next::Start(first.clone())],
        };
        assert!(
            expected.contains(&next),
            "{next:?}, not {expected:?}, {}",
            self.context()
        );
    }

    /// Whether the first attempt may start, in each way that agrees with the list.
    fn readiness(&self) -> Vec<bool> {
        let mut choices = Choices::default();
        let mut ready = Vec::new();
        loop {
            let definition = define(&self.case, &self.known, &mut choices);
            if self.matches(&definition, &[]) {
                ready.push(definition.is_ready);
            }
            if !choices.advance() {
                return ready;
            }
        }
    }

    fn check_invariants(&self) {
        let list = self.endpoints.list();
        let context = self.context();
        assert!(list.len() <= 64, "{context}");
        let peers: HashSet<_> = list.iter().map(Endpoint::peer).collect();
        assert_eq!(peers.len(), list.len(), "{context}");
        let records = self.known.https.values().flatten().flatten();
        let offers_h3 = records
            .clone()
            .any(|it| it.alpn.iter().flatten().any(|it| *it == "h3"));
        for endpoint in list {
            let is_literal = self.case.literal.is_some();
            assert!(
                is_literal || self.case.has_v6 || endpoint.address.is_ipv4(),
                "{context}"
            );
            let is_quic = endpoint.transport == Transport::Quic;
            assert!(!is_quic || (offers_h3 && self.case.quic), "{context}");
        }
        for query in &self.asked {
            let is_allowed = match query.kind {
                RecordType::Https => self.case.is_secure && self.case.literal.is_none(),
                RecordType::Aaaa => self.case.has_v6,
                RecordType::A => {
                    let has_nat64 = self.endpoints.nat64().next().is_some();
                    self.case.has_v4 || has_nat64 || !self.known.v6.is_empty()
                }
            };
            assert!(is_allowed, "{query} is asked, {context}");
        }
    }

    fn check_handshakes(&self, definition: &Definition) {
        for endpoint in &self.started {
            let listed = self
                .endpoints
                .list()
                .iter()
                .find(|it| it.peer() == endpoint.peer());
            let expected = match definition.state {
                State::Pending if self.depends_on_https() => Handshake::Wait,
                _ if self.refused(definition).is_some() => Handshake::Refused,
                _ => match listed {
                    Some(listed) => Handshake::Begin(listed.ech.clone()),
                    None if definition.is_reliant && endpoint.ech.is_none() => Handshake::Refused,
                    None => Handshake::Begin(endpoint.ech.clone()),
                },
            };
            let context = self.context();
            assert_eq!(self.endpoints.handshake(endpoint), expected, "{context}");
        }
    }

    fn has_started(&self, endpoint: &Endpoint) -> bool {
        self.started.iter().any(|it| it.peer() == endpoint.peer())
    }

    fn moment(&self) -> Moment {
        Duration::from_millis(self.now).into()
    }

    /// Printed if the case fails.
    fn context(&self) -> Context<'_> {
        Context(self)
    }
}

struct Context<'a>(&'a Run);

impl std::fmt::Display for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Run {
            case,
            known,
            now,
            started,
            open,
            ..
        } = self.0;
        let list: Vec<_> = self.0.endpoints.list().iter().map(tried).collect();
        let started: Vec<_> = started.iter().map(ToString::to_string).collect();
        let open: Vec<_> = open.iter().map(ToString::to_string).collect();
        write!(
            f,
            "at {now} with {case:#?}, {known:#?}: {list:#?}, started {started:?}, open {open:?}"
        )
    }
}

fn tried(endpoint: &Endpoint) -> Tried {
    Tried {
        address: endpoint.address,
        transport: endpoint.transport,
        ech: endpoint.ech.as_ref().map(|it| it[0]),
        family: endpoint.family(),
    }
}
