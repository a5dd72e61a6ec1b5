use std::{
    collections::HashMap,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use super::Nat64Prefix;
use crate::{Family, source_address};

type Sources = Arc<dyn Fn(SocketAddr) -> Option<IpAddr> + Send + Sync>;

/// What a client knows of the network that it is on.
///
/// | setting | default |
/// | --- | --- |
/// | families | those that [`detect`](Self::detect) finds, or that the constructor names |
/// | [`nat64`](Self::nat64) | asked for over DNS, if there is no IPv4 |
/// | [`sources`](Self::sources) | none; those of the system after [`detect`](Self::detect) |
/// | [`protected_dns`](Self::protected_dns) | `false` |
#[derive(Clone)]
pub struct Network {
    has_ipv4: bool,
    has_ipv6: bool,
    pub(super) nat64: Vec<Nat64Prefix>,
    pub(super) sources: Option<Sources>,
    pub(super) has_protected_dns: bool,
}

impl Network {
    /// A network with IPv4 and IPv6.
    #[must_use]
    pub fn dual_stack() -> Self {
        Self::with(true, true)
    }

    /// A network with IPv4 only: AAAA records are not asked for, and nothing waits for them.
    #[must_use]
    pub fn ipv4_only() -> Self {
        Self::with(true, false)
    }

    /// A network with IPv6 only. A records are asked for if it has a NAT64.
    #[must_use]
    pub fn ipv6_only() -> Self {
        Self::with(false, true)
    }

    /// Looks which families the system has a route for, and asks it for source addresses. No packet
    /// is sent. A host with neither counts as having both, since it may reach itself.
    ///
    /// A family has a route if one of some well-known global or private addresses is reached from an
    /// address that is neither of the loopback nor of the link. A few system calls; repeat it when
    /// the network changes.
    #[must_use]
    pub fn detect() -> Self {
        let [has_ipv4, has_ipv6] = [&IPV4[..], &IPV6[..]].map(|probes| {
            let mut sources = probes.iter().map(|ip| source_address((*ip, 443).into()));
            sources.any(|source| source.is_some_and(is_usable))
        });
        let network = match (has_ipv4, has_ipv6) {
            (false, false) => Self::dual_stack(),
            _ => Self::with(has_ipv4, has_ipv6),
        };
        network.sources(source_address)
    }

    fn with(has_ipv4: bool, has_ipv6: bool) -> Self {
        Self {
            has_ipv4,
            has_ipv6,
            nat64: Vec::new(),
            sources: None,
            has_protected_dns: false,
        }
    }

    /// Adds the prefix of the NAT64 on this network, as a router advertises it (RFC 8781). Default:
    /// none. If there is none and no IPv4, the resolver is asked for `ipv4only.arpa` (RFC 7050).
    #[must_use]
    pub fn nat64(mut self, prefix: Nat64Prefix) -> Self {
        self.nat64.push(prefix);
        self
    }

    /// Sets the function that returns the address from which a destination would be reached, or
    /// `None` if there is no route. With it, addresses are sorted by RFC 6724; without it, they keep
    /// the order of the resolver, IPv6 first. [`source_address`] is that of the system. It is called
    /// once for each IP address of a connection.
    #[must_use]
    pub fn sources(
        mut self,
        sources: impl Fn(SocketAddr) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        self.sources = Some(Arc::new(sources));
        self
    }

    /// Says that answers of the resolver are protected by encryption or by signatures. Default:
    /// `false`. If the client also uses ECH, handshakes wait for the HTTPS records, and if that query
    /// fails, the connection fails (RFC 9460, section 3.1).
    #[must_use]
    pub fn protected_dns(mut self, is_protected: bool) -> Self {
        self.has_protected_dns = is_protected;
        self
    }

    /// Remembers the sources, since each may need system calls, and one address can be that of many
    /// services.
    pub(super) fn remember_sources(self) -> Self {
        let Some(sources) = self.sources.clone() else {
            return self;
        };
        let known = Mutex::new(HashMap::new());
        self.sources(move |destination| {
            let ip = destination.ip();
            let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(source) = known().get(&ip) {
                return *source;
            }
            // Unlocked, because a function of the caller may run any code.
            let source = sources(destination);
            known().insert(ip, source);
            source
        })
    }

    pub(super) fn has(&self, family: Family) -> bool {
        match family {
            Family::V4 => self.has_ipv4,
            Family::V6 => self.has_ipv6,
        }
    }

    /// Returns the address from which a destination is reached; `None` if it is unknown or there is
    /// no route.
    pub(super) fn source(&self, destination: SocketAddr) -> Option<IpAddr> {
        self.sources.as_ref()?(destination)
    }

    /// Whether the family of this address is here, and there is a route if routes are known.
    pub(super) fn has_route(&self, destination: SocketAddr) -> bool {
        let is_known = self.sources.is_some();
        self.has(Family::of(&destination)) && (!is_known || self.source(destination).is_some())
    }
}

/// Addresses that a default route, or one to a private network, covers.
const IPV4: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(198, 41, 0, 4)), // a root name server
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(Ipv4Addr::new(172, 16, 0, 1)),
    IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
];

const IPV6: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30)), // a root name server
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
];

fn is_usable(source: IpAddr) -> bool {
    match source {
        IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_link_local() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local() && !v6.is_unspecified(),
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut network = f.debug_struct("Network");
        network.field("has_ipv4", &self.has_ipv4);
        network.field("has_ipv6", &self.has_ipv6);
        network.field("nat64", &self.nat64);
        network.field("has_sources", &self.sources.is_some());
        network.field("has_protected_dns", &self.has_protected_dns);
        network.finish()
    }
}
