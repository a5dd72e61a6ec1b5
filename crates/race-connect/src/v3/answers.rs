use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::{
    Name, Nat64Prefix, Network, Origin, Preferences, Transport,
    services::{HttpsAnswers, Service},
};
use crate::Family;

/// All that is known of an origin, and the rules of the network that make addresses of it.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) origin: Origin,
    pub(super) network: Network,
    pub(super) preferences: Preferences,
    pub(super) https: HttpsAnswers,
    /// The addresses of names. A query that failed gave none.
    pub(super) ipv4: HashMap<Name, Vec<Ipv4Addr>>,
    pub(super) ipv6: HashMap<Name, Vec<Ipv6Addr>>,
    /// The prefixes that the answer for `ipv4only.arpa` showed.
    pub(super) discovered: Vec<Nat64Prefix>,
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
        let v6 = self.ipv6.get(name).map_or(v6, Vec::as_slice);
        let v4 = self.ipv4.get(name).map_or(v4, Vec::as_slice);
        let v6 = v6.iter().map(|ip| IpAddr::V6(*ip));
        self.addresses(v6.chain(v4.iter().map(|ip| IpAddr::V4(*ip))), port)
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
    /// made an IPv6 address of.
    fn address(&self, ip: IpAddr, port: u16) -> Option<Address> {
        let ip = match ip.to_canonical() {
            IpAddr::V6(v6) => match self.prefixes().find_map(|it| it.extract(v6)) {
                Some(v4) => IpAddr::V4(v4),
                None => IpAddr::V6(v6),
            },
            v4 => v4,
        };
        let native = SocketAddr::new(ip, port);
        let destination = match ip {
            IpAddr::V4(v4) if !self.network.has_route(native) => {
                let mut prefixes = self.prefixes();
                let synthesized = prefixes.find_map(|it| it.synthesize(v4));
                synthesized.map_or(native, |v6| SocketAddr::new(v6.into(), port))
            }
            _ => native,
        };
        let family = Family::of(&destination);
        (self.network.has(family) || self.origin.ip().is_some())
            .then_some(Address { ip, destination })
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = Nat64Prefix> {
        let known = self.network.nat64.iter().chain(&self.discovered);
        known.copied()
    }
}
