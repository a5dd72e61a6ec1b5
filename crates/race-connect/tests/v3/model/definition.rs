//! What must hold after some answers, by definition: nothing is kept from one answer to the next.

mod list;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use race_connect::{
    Family,
    v3::{RecordType, Transport},
};

use super::{
    case::{Case, PREFIXES},
    zone::{Record, name},
};

/// The answers so far; an error is a query that failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) https: HashMap<String, Result<Vec<Record>, ()>>,
    pub(crate) v6: HashMap<String, Result<Vec<Ipv6Addr>, ()>>,
    pub(crate) v4: HashMap<String, Result<Vec<Ipv4Addr>, ()>>,
    pub(crate) discovered: Vec<Ipv6Addr>,
}

/// One way in which all that is random can turn out: the digits of a number, each of its own base.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    digits: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    fn choose(&mut self, of: usize) -> usize {
        if self.next == self.digits.len() {
            self.digits.push((0, of));
        }
        self.next += 1;
        self.digits[self.next - 1].0
    }

    /// Steps to the next way; `false` after the last.
    pub(crate) fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((digit, of)) = self.digits.pop() {
            if digit + 1 < of {
                self.digits.push((digit + 1, of));
                return true;
            }
        }
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) address: SocketAddr,
    pub(crate) transport: Transport,
    pub(crate) ech: Option<u8>,
    pub(crate) family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Complete,
    Pending,
    Failed,
    NoService,
}

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) needed: Vec<(String, RecordType)>,
    pub(crate) list: Vec<Tried>,
    pub(crate) state: State,
    /// Only services may be used.
    pub(crate) is_reliant: bool,
    pub(crate) has_address: bool,
    pub(crate) is_ready: bool,
}

struct View<'a> {
    case: &'a Case,
    known: &'a Known,
    /// Those that can be used, with the names of their targets.
    services: Vec<(String, Record)>,
    alias: Option<String>,
    chain: Vec<String>,
    state: State,
}

pub(crate) fn define(case: &Case, known: &Known, choices: &mut Choices) -> Definition {
    let mut view = View {
        case,
        known,
        services: Vec::new(),
        alias: None,
        chain: Vec::new(),
        state: State::Complete,
    };
    if case.is_secure && case.literal.is_none() {
        view.follow(choices);
    }
    Definition {
        needed: view.needed(),
        list: view.list(),
        state: view.state,
        is_reliant: view.is_reliant(),
        has_address: view.has_address(),
        is_ready: view.is_ready(),
    }
}

impl View<'_> {
    fn follow(&mut self, choices: &mut Choices) {
        let first = match self.case.port {
            443 => name(0),
            port => format!("_{port}._https.{}", name(0)),
        };
        let mut owner = first.clone();
        while self.chain.len() < 8 && !self.chain.contains(&owner) {
            self.chain.push(owner.clone());
            self.alias = (owner != first).then(|| owner.clone());
            let records = match self.known.https.get(&owner) {
                None => return self.state = State::Pending,
                Some(Err(())) => return self.state = State::Failed,
                Some(Ok(records)) => records,
            };
            let mut aliases: Vec<_> = records.iter().filter(|it| it.priority == 0).collect();
            aliases.sort();
            aliases.dedup();
            if aliases.is_empty() {
                return self.shuffle(&owner, records, choices);
            }
            owner = aliases[choices.choose(aliases.len())].target.clone();
            if owner.is_empty() {
                return self.state = State::NoService;
            }
        }
        self.alias = None;
    }

    fn shuffle(&mut self, owner: &str, records: &[Record], choices: &mut Choices) {
        let mut left: Vec<_> = records.to_vec();
        left.retain(|it| !self.transports(it).is_empty());
        left.sort();
        let mut names = Vec::new();
        while let Some(best) = left.first().map(|it| it.priority) {
            let equal = left.iter().filter(|it| it.priority == best).count();
            let record = left.remove(choices.choose(equal));
            let target = match record.target.is_empty() {
                true => owner.to_owned(),
                false => record.target.clone(),
            };
            if !names.contains(&target) {
                names.push(target.clone());
            }
            if names.len() <= 8 || names[..8].contains(&target) {
                self.services.push((target, record));
            }
        }
    }

    fn transports(&self, record: &Record) -> Vec<Transport> {
        let mut present = vec![];
        present.extend(record.alpn.as_ref().map(|_| 1));
        present.extend(record.no_default_alpn.then_some(2));
        present.extend(record.port.map(|_| 3));
        present.extend((!record.v4.is_empty()).then_some(4));
        present.extend(record.ech.map(|_| 5));
        present.extend((!record.v6.is_empty()).then_some(6));
        let understood = |key: &u16| *key != 5 || self.case.ech;
        let is_usable = record
            .mandatory
            .iter()
            .all(|key| present.contains(key) && understood(key))
            && (record.alpn.is_some() || !record.no_default_alpn)
            && record.port != Some(0);
        let mut offered = record.alpn.clone().unwrap_or_default();
        offered.extend((!record.no_default_alpn).then_some("http/1.1"));
        let quic = is_usable && self.case.quic && offered.contains(&"h3");
        let tcp = is_usable && self.case.tcp.iter().any(|it| offered.contains(it));
        let both = [
            quic.then_some(Transport::Quic),
            tcp.then_some(Transport::Tcp),
        ];
        both.into_iter().flatten().collect()
    }

    fn is_reliant(&self) -> bool {
        let all = self.services.iter().all(|it| it.1.ech.is_some());
        self.case.ech && all && !self.services.is_empty()
    }

    fn prefixes(&self) -> impl Iterator<Item = &Ipv6Addr> {
        self.case.given.iter().chain(&self.known.discovered)
    }

    fn uses_v4(&self) -> bool {
        self.case.has_v4 || self.prefixes().next().is_some()
    }

    fn needed(&self) -> Vec<(String, RecordType)> {
        let mut needed = Vec::new();
        for owner in &self.chain {
            needed.push((owner.clone(), RecordType::Https));
        }
        let targets = self.services.iter().map(|it| it.0.clone());
        let host = self.case.literal.is_none().then(|| name(0));
        for owner in host.into_iter().chain(self.alias.clone()).chain(targets) {
            if self.case.has_v6 {
                needed.push((owner.clone(), RecordType::Aaaa));
            }
            if self.uses_v4() {
                needed.push((owner, RecordType::A));
            }
        }
        let may_be_behind = match self.case.literal {
            Some(IpAddr::V4(ip)) => !ip.is_loopback(),
            Some(IpAddr::V6(_)) => false,
            None => true,
        };
        if !self.case.has_v4 && self.case.given.is_empty() && may_be_behind {
            needed.push(("ipv4only.arpa".to_owned(), RecordType::Aaaa));
        }
        needed
    }

    fn has_address(&self) -> bool {
        let v4 = self.known.v4.values().flatten().any(|it| !it.is_empty());
        let v6 = self.known.v6.values().flatten().any(|it| !it.is_empty());
        let hinted = |it: &(String, Record)| !it.1.v4.is_empty() || !it.1.v6.is_empty();
        v4 || v6 || self.services.iter().any(hinted)
    }

    /// The addresses of a name by which it is sorted, and those to connect to.
    fn addresses(&self, owner: &str, v6: &[Ipv6Addr], v4: &[Ipv4Addr]) -> Vec<(IpAddr, IpAddr)> {
        let v6 = match self.known.v6.get(owner) {
            Some(Ok(ips)) => ips,
            _ => v6,
        };
        let v4 = match self.known.v4.get(owner) {
            Some(Ok(ips)) => ips,
            _ => v4,
        };
        let v6 = v6.iter().map(|ip| self.desynthesized(*ip));
        let ips = v6.chain(v4.iter().map(|ip| IpAddr::V4(*ip)));
        let mut pairs = Vec::new();
        for ip in ips {
            let pair = (ip, self.destination(ip));
            if self.can_reach(pair.1) && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    }

    fn desynthesized(&self, ip: Ipv6Addr) -> IpAddr {
        let [.., high, low] = ip.segments();
        let is_behind = |it: &&Ipv6Addr| it.segments()[..6] == ip.segments()[..6];
        match self.prefixes().any(|it| is_behind(&it)) {
            true => Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into(),
            false => ip.into(),
        }
    }

    fn destination(&self, ip: IpAddr) -> IpAddr {
        let IpAddr::V4(v4) = ip else { return ip };
        let is_routed = self.case.unrouted.is_none() || self.case.source(ip).is_some();
        if (self.case.has_v4 && is_routed) || v4.is_loopback() {
            return ip;
        }
        let mut usable = self
            .prefixes()
            .filter(|it| **it != PREFIXES[0] || !v4.is_private());
        usable.next().map_or(ip, |prefix| {
            let [a, b, c, d] = v4.octets().map(u16::from);
            let [p0, p1, p2, p3, p4, p5, ..] = prefix.segments();
            Ipv6Addr::new(p0, p1, p2, p3, p4, p5, a << 8 | b, c << 8 | d).into()
        })
    }

    fn can_reach(&self, destination: IpAddr) -> bool {
        match destination {
            IpAddr::V6(_) => self.case.has_v6,
            IpAddr::V4(ip) => {
                self.case.has_v4 || (ip.is_loopback() && self.case.source(destination).is_some())
            }
        }
    }

    fn is_ready(&self) -> bool {
        let preferred = match self.case.prefer {
            Some(Family::V4) if self.uses_v4() => Family::V4,
            _ if self.case.has_v6 => Family::V6,
            _ => Family::V4,
        };
        let services = self.services.iter();
        let services =
            services.map(|(it, record)| (it.clone(), record.v6.clone(), record.v4.clone()));
        let plain = |it: String| vec![(it, Vec::new(), Vec::new())];
        let levels = [
            services.collect(),
            self.alias.clone().map_or(Vec::new(), plain),
            plain(name(0)),
        ];
        for level in levels {
            let (mut is_known, mut may_come) = (false, false);
            for (owner, v6, v4) in level {
                let pairs = self.addresses(&owner, &v6, &v4);
                let has_v6 = self.known.v6.contains_key(&owner);
                let has_v4 = self.known.v4.contains_key(&owner);
                let of_preferred = pairs
                    .iter()
                    .any(|it| it.0.is_ipv6() == (preferred == Family::V6));
                let is_answered = match preferred {
                    Family::V6 => has_v6,
                    Family::V4 => has_v4,
                };
                is_known |= !pairs.is_empty() && (of_preferred || is_answered);
                may_come |= !pairs.is_empty()
                    || (self.case.has_v6 && !has_v6)
                    || (self.uses_v4() && !has_v4);
            }
            if is_known || may_come {
                return self.state != State::Pending && is_known;
            }
        }
        self.state != State::Pending
    }
}
