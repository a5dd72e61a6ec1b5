use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::{
    Name, Nat64Prefix, Network, Origin, Preferences, Query, QueryFailed, RecordType, Records,
    Transport,
    services::{HttpsAnswers, Service, Services},
};
use crate::Family;

/// The name whose AAAA records show the prefix of a NAT64 (RFC 7050).
pub(super) const NAT64_NAME: &str = "ipv4only.arpa";

/// The most addresses of one name and family that are looked at, since each is sorted and may need
/// system calls. No more endpoints are tried in all.
const MAX_ADDRESSES: usize = super::order::MAX_ENDPOINTS;

/// All that is known of an origin, and the rules of the network that make addresses of it.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) origin: Origin,
    pub(super) network: Network,
    pub(super) preferences: Preferences,
    pub(super) https: HttpsAnswers,
    /// The addresses of names; an error is a query that failed.
    ipv4: HashMap<Name, Result<Vec<Ipv4Addr>, QueryFailed>>,
    ipv6: HashMap<Name, Result<Vec<Ipv6Addr>, QueryFailed>>,
    /// The prefixes that the answer for `ipv4only.arpa` showed.
    discovered: Vec<Nat64Prefix>,
}

/// An address of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The address by which it is sorted: the IPv4 address, if it is reached over NAT64.
    pub(super) ip: IpAddr,
    /// The address to connect to.
    pub(super) destination: SocketAddr,
}

impl Address {
    pub(super) fn family(&self) -> Family {
        Family::of(&SocketAddr::new(self.ip, 0))
    }
}

impl Answers {
    pub(super) fn new(origin: Origin, network: Network, preferences: Preferences) -> Self {
        Self {
            origin,
            network,
            preferences,
            https: HashMap::new(),
            ipv4: HashMap::new(),
            ipv6: HashMap::new(),
            discovered: Vec::new(),
        }
    }

    /// Returns `false` if the answer is not one to this query.
    pub(super) fn insert(&mut self, query: &Query, answer: Result<Records, QueryFailed>) -> bool {
        let name = &query.name;
        match (query.kind, answer) {
            (RecordType::Https, Ok(Records::Https(records))) => set(&mut self.https, name, records),
            (RecordType::Aaaa, Ok(Records::Aaaa(ips))) => {
                if name.as_str() == NAT64_NAME {
                    self.discovered = Nat64Prefix::discover(&ips);
                }
                set(&mut self.ipv6, name, ips);
            }
            (RecordType::A, Ok(Records::A(ips))) => set(&mut self.ipv4, name, ips),
            (RecordType::Https, Err(failed)) => set_failed(&mut self.https, name, failed),
            (RecordType::Aaaa, Err(failed)) => set_failed(&mut self.ipv6, name, failed),
            (RecordType::A, Err(failed)) => set_failed(&mut self.ipv4, name, failed),
            _ => return false,
        }
        true
    }

    /// Whether an address has been answered or hinted, even if no endpoint follows from it yet.
    pub(super) fn has_address(&self, services: &Services) -> bool {
        let has_ipv4 = self.ipv4.values().flatten().any(|ips| !ips.is_empty());
        let names = self.ipv6.iter().filter(|it| it.0.as_str() != NAT64_NAME);
        let has_ipv6 = names
            .filter_map(|it| it.1.as_ref().ok())
            .any(|ips| !ips.is_empty());
        let records = services.services.iter().map(|it| &it.record);
        let mut hints = records.map(|it| !it.ipv4_hints.is_empty() || !it.ipv6_hints.is_empty());
        has_ipv4 || has_ipv6 || hints.any(|it| it)
    }

    /// Whether the client speaks something over TCP to this origin.
    pub(super) fn connects_over_tcp(&self) -> bool {
        let protocols = &self.preferences.protocols;
        !self.origin.is_secure() || !protocols.of(Transport::Tcp).is_empty()
    }

    /// Whether addresses of this family can be reached.
    pub(super) fn uses(&self, family: Family) -> bool {
        self.network.has(family) || (family == Family::V4 && self.prefixes().next().is_some())
    }

    /// Whether the addresses of a name in this family have been answered for.
    pub(super) fn has(&self, name: &Name, family: Family) -> bool {
        match family {
            Family::V4 => self.ipv4.contains_key(name),
            Family::V6 => self.ipv6.contains_key(name),
        }
    }

    /// Returns the addresses of a name, or of the host if that is one.
    pub(super) fn of_name(&self, name: &Name, port: u16) -> Vec<Address> {
        if let (Some(ip), true) = (self.origin.ip(), name == self.origin.host()) {
            return self.addresses([ip], port);
        }
        self.merged(name, port, &[], &[])
    }

    /// Returns the addresses of a service: its hints until the answers are there.
    pub(super) fn of_service(&self, service: &Service) -> Vec<Address> {
        let record = &service.record;
        let port = record.port.unwrap_or(self.origin.port());
        self.merged(
            &service.target,
            port,
            &record.ipv6_hints,
            &record.ipv4_hints,
        )
    }

    fn merged(&self, name: &Name, port: u16, v6: &[Ipv6Addr], v4: &[Ipv4Addr]) -> Vec<Address> {
        let v6 = known(&self.ipv6, name).unwrap_or(v6).iter();
        let v4 = known(&self.ipv4, name).unwrap_or(v4).iter();
        let v6 = v6.take(MAX_ADDRESSES).map(|ip| IpAddr::V6(*ip));
        let v4 = v4.take(MAX_ADDRESSES).map(|ip| IpAddr::V4(*ip));
        self.addresses(v6.chain(v4), port)
    }

    fn addresses(&self, ips: impl IntoIterator<Item = IpAddr>, port: u16) -> Vec<Address> {
        let mut addresses: Vec<Address> = Vec::new();
        for ip in ips {
            let Some(address) = self.address(ip, port) else {
                continue;
            };
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    /// An IPv4 address without a route is reached over the NAT64, and so is one that a DNS64 has
    /// made an IPv6 address of. The host itself, if it is an address, was not made by a DNS64.
    fn address(&self, ip: IpAddr, port: u16) -> Option<Address> {
        let is_host = self.origin.ip().is_some();
        let ip = match ip.to_canonical() {
            IpAddr::V6(v6) if !is_host => {
                let extracted = self.prefixes().find_map(|it| it.extract(v6));
                extracted.map_or(IpAddr::V6(v6), IpAddr::V4)
            }
            ip => ip,
        };
        let native = SocketAddr::new(ip, port);
        let mut is_reachable = self.network.has(Family::of(&native)) || is_host;
        let mut destination = native;
        if let IpAddr::V4(v4) = ip {
            if !self.network.has_route(native) {
                let synthesized = self.prefixes().find_map(|it| it.synthesize(v4));
                if let Some(v6) = synthesized {
                    destination = SocketAddr::new(v6.into(), port);
                    is_reachable = self.network.has(Family::V6) || is_host;
                }
            }
            // Addresses of the host itself and of its links need no network.
            is_reachable |= Nat64Prefix::is_scoped(v4) && self.network.source(native).is_some();
        }
        is_reachable.then_some(Address { ip, destination })
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = Nat64Prefix> {
        let known = self.network.nat64.iter().chain(&self.discovered);
        known.copied()
    }
}

type Known<T> = HashMap<Name, Result<Vec<T>, QueryFailed>>;

fn set<T>(answers: &mut Known<T>, name: &Name, records: Vec<T>) {
    answers.insert(name.clone(), Ok(records));
}

/// A failure says nothing about records that are known.
fn set_failed<T>(answers: &mut Known<T>, name: &Name, failed: QueryFailed) {
    answers.entry(name.clone()).or_insert(Err(failed));
}

/// Returns the addresses of a name if there is an answer, although that may be empty.
fn known<'a, T>(answers: &'a Known<T>, name: &Name) -> Option<&'a [T]> {
    let ips = answers.get(name)?.as_ref().ok()?;
    Some(ips)
}
