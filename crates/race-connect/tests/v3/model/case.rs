//! The options of a random case.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use race_connect::{
    Family,
    v3::{AddressHistory, Nat64Prefix, Network, Order, Origin, Preferences, Protocols},
};

use super::{Draw, zone::Shape};

/// Prefixes of 96 bits.
pub(crate) const PREFIXES: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0),
    Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0, 0),
];

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) is_secure: bool,
    pub(crate) port: u16,
    pub(crate) literal: Option<IpAddr>,
    pub(crate) has_v4: bool,
    pub(crate) has_v6: bool,
    pub(crate) given: Vec<Ipv6Addr>,
    /// Destinations without a route, if routes are known.
    pub(crate) unrouted: Option<Vec<IpAddr>>,
    pub(crate) is_protected: bool,
    pub(crate) quic: bool,
    pub(crate) tcp: Vec<&'static str>,
    pub(crate) ech: bool,
    pub(crate) quic_first: bool,
    pub(crate) tcp_first: bool,
    pub(crate) prefer: Option<Family>,
    pub(crate) count: usize,
    pub(crate) delay: u64,
    pub(crate) history: Option<Vec<(IpAddr, u64)>>,
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    /// The number of addresses of a name is below this.
    pub(crate) addresses: usize,
}

/// Some of the addresses of zones.
fn some_ip(draw: &mut Draw) -> IpAddr {
    let last = draw.below(6) as u16;
    match draw.below(6) {
        0 | 1 => [192, 0, 2, last as u8].into(),
        2 => [127, 0, 0, 1].into(),
        3 => Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x200 + last).into(),
        _ => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into(),
    }
}

impl Case {
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let (has_v4, has_v6) = draw.of(&[(true, true), (true, true), (true, false), (false, true)]);
        let ips = |draw: &mut Draw| -> Vec<IpAddr> {
            (0..draw.below(6)).map(|_| some_ip(draw)).collect()
        };
        Self {
            is_secure: !draw.one_in(8),
            port: draw.of(&[443, 443, 8443]),
            literal: draw.one_in(10).then(|| some_ip(draw)),
            has_v4,
            has_v6,
            given: match draw.below(6) {
                0 => vec![PREFIXES[0]],
                1 => vec![PREFIXES[1]],
                2 => PREFIXES.to_vec(),
                _ => Vec::new(),
            },
            unrouted: draw.one_in(2).then(|| ips(draw)),
            is_protected: draw.one_in(2),
            quic: !draw.one_in(4),
            tcp: draw.of(&[vec!["h2", "http/1.1"], vec!["http/1.1"], vec!["h2"], vec![]]),
            ech: draw.one_in(2),
            quic_first: draw.one_in(3),
            tcp_first: draw.one_in(3),
            prefer: draw.of(&[None, None, Some(Family::V4), Some(Family::V6)]),
            count: draw.below(4),
            delay: draw.of(&[0, 20, 50, 50]),
            history: draw.one_in(3).then(|| {
                let ips = ips(draw).into_iter();
                let mut known: Vec<_> = ips.map(|ip| (ip, 1 + draw.below(40) as u64)).collect();
                known.sort();
                known.dedup_by_key(|it| it.0);
                known
            }),
            seed: draw.below(1_000) as u64,
            shape: match draw.below(8) {
                0 => Shape::Chain,
                1 => Shape::Many,
                _ => Shape::Mixed,
            },
            addresses: draw.of(&[4, 4, 4, 4, 4, 4, 4, 45]),
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        let host = match self.literal {
            Some(ip) => ip.to_string(),
            None => super::zone::name(0),
        };
        match self.is_secure {
            true => Origin::https(&host, self.port),
            false => Origin::http(&host, self.port),
        }
    }

    pub(crate) fn network(&self) -> Network {
        let mut network = match (self.has_v4, self.has_v6) {
            (true, true) => Network::dual_stack(),
            (true, false) => Network::ipv4_only(),
            _ => Network::ipv6_only(),
        };
        for prefix in &self.given {
            network = network.nat64(Nat64Prefix::new(*prefix, 96).unwrap());
        }
        if self.unrouted.is_some() {
            let case = self.clone();
            network = network.sources(move |to: SocketAddr| case.source(to.ip()));
        }
        network.protected_dns(self.is_protected)
    }

    /// The address from which a destination is reached, if routes are known and there is one.
    pub(crate) fn source(&self, to: IpAddr) -> Option<IpAddr> {
        let source = match to {
            IpAddr::V4(ip) if ip.is_loopback() => ip.into(),
            IpAddr::V4(_) => [198, 51, 100, 7].into(),
            IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 7).into(),
        };
        let unrouted = self.unrouted.as_ref()?;
        (!unrouted.contains(&to)).then_some(source)
    }

    pub(crate) fn preferences(&self) -> Preferences {
        let quic = self.quic.then_some("h3");
        let order = match self.quic_first {
            true => Order::QuicFirst,
            false => Order::Priority,
        };
        let history = self.history.as_ref().map(|known| {
            let history = AddressHistory::new();
            for (ip, millis) in known {
                history.remember(*ip, Duration::from_millis(*millis));
            }
            Arc::new(history)
        });
        Preferences::new()
            .protocols(Protocols::new().quic(quic).tcp(self.tcp.iter().copied()))
            .order(order)
            .prefer(self.prefer)
            .first_family_count(self.count)
            .resolution_delay(Duration::from_millis(self.delay))
            .ech(self.ech)
            .tcp_first(self.tcp_first)
            .history(history)
            .seed(self.seed)
    }
}
