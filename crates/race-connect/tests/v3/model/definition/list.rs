//! The endpoints in their order.

use std::{
    cmp::Reverse,
    net::{IpAddr, SocketAddr},
};

use race_connect::{
    Family,
    v3::{RecordType, Transport},
};

use super::{Record, Tried, View, name};

/// The addresses of a service, or of a name without one.
struct Group {
    transports: Vec<Transport>,
    /// The addresses by which they are sorted, and those to connect to.
    pairs: Vec<(IpAddr, IpAddr)>,
    port: u16,
    ech: Option<u8>,
}

impl Group {
    fn tried(&self, transport: Transport, (ip, to): &(IpAddr, IpAddr)) -> Tried {
        Tried {
            address: SocketAddr::new(*to, self.port),
            transport,
            ech: self.ech,
            family: Family::of(&SocketAddr::new(*ip, self.port)),
        }
    }
}

impl View<'_> {
    /// Best first, with alternating families.
    fn ordered(&self, mut pairs: Vec<(IpAddr, IpAddr)>) -> Vec<(IpAddr, IpAddr)> {
        pairs.sort_by_cached_key(|(ip, to)| {
            let known = self.case.history.iter().flatten();
            let mut known = known.filter(|it| it.0 == *to).map(|it| it.1);
            let handshake = known.next().unwrap_or(u64::MAX);
            let is_scoped = matches!(ip, IpAddr::V4(ip) if ip.is_loopback());
            match (self.case.unrouted.is_some(), self.case.source(*to)) {
                (false, _) => (false, false, ip.is_ipv4(), false, handshake, Reverse(0)),
                (true, None) => (true, true, true, false, handshake, Reverse(0)),
                (true, Some(from)) => {
                    let is_mixed = from.is_ipv4() != ip.is_ipv4();
                    let common = common_bits(from, *ip);
                    (false, is_mixed, ip.is_ipv4(), !is_scoped, handshake, common)
                }
            }
        });
        let best = pairs
            .first()
            .map(|it| Family::of(&SocketAddr::new(it.0, 0)));
        let first = self.case.prefer.or(best);
        let (mut firsts, mut others) = (0, 0);
        let count = self.case.count.max(1);
        let mut slots: Vec<_> = pairs
            .into_iter()
            .map(|pair| {
                let slot = if Some(Family::of(&SocketAddr::new(pair.0, 0))) == first {
                    firsts += 1;
                    match firsts <= count {
                        true => firsts,
                        false => count + 2 * (firsts - count),
                    }
                } else {
                    others += 1;
                    count + 2 * others - 1
                };
                (slot, pair)
            })
            .collect();
        slots.sort_by_key(|it| it.0);
        slots.into_iter().map(|it| it.1).collect()
    }

    /// The services by priority, then the end of the aliases, then the host.
    fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for (target, record) in &self.services {
            let pairs = self.ordered(self.addresses(target, &record.v6, &record.v4));
            let port = record.port.unwrap_or(self.case.port);
            let ech = record.ech.filter(|_| self.case.ech);
            groups.push(Group {
                transports: self.transports(record),
                pairs,
                port,
                ech,
            });
        }
        let speaks_tcp = !self.case.is_secure || !self.case.tcp.is_empty();
        let mut plain = Vec::new();
        if speaks_tcp && !self.is_reliant() {
            plain.extend(self.alias.clone());
            plain.push(name(0));
        }
        for owner in plain {
            let described = |it: &(String, Record)| {
                it.0 == owner && it.1.port.unwrap_or(self.case.port) == self.case.port
            };
            if self.services.iter().any(described) {
                continue;
            }
            let pairs = match self.case.literal {
                Some(_) if self.awaits_prefix() => Vec::new(),
                Some(ip) => vec![(ip, self.destination(ip))],
                None => self.ordered(self.addresses(&owner, &[], &[])),
            };
            groups.push(Group {
                transports: vec![Transport::Tcp],
                pairs,
                port: self.case.port,
                ech: None,
            });
        }
        groups
    }

    pub(super) fn list(&self) -> Vec<Tried> {
        let mut transports = [Transport::Quic, Transport::Tcp];
        if self.case.tcp_first {
            transports.reverse();
        }
        let mut all = Vec::new();
        for (place, group) in self.groups().into_iter().enumerate() {
            for (second, transport) in transports.into_iter().enumerate() {
                let key = match self.case.quic_first {
                    true => (second, place),
                    false => (place, second),
                };
                if group.transports.contains(&transport) {
                    let pairs = group.pairs.iter();
                    all.extend(pairs.map(|pair| (key, group.tried(transport, pair))));
                }
            }
        }
        all.sort_by_key(|it| it.0);
        let mut list: Vec<Tried> = Vec::new();
        for (_, tried) in all {
            let is_same =
                |it: &Tried| (it.address, it.transport) == (tried.address, tried.transport);
            if !list.iter().any(is_same) {
                list.push(tried);
            }
        }
        while list.len() > 64 {
            let crowded = crowded(&list);
            let last = list.iter().rposition(|it| it.transport == crowded);
            list.remove(last.expect("it has more than half of the places"));
        }
        list
    }

    /// Whether the host is an address that may be behind a prefix that is not known yet.
    fn awaits_prefix(&self) -> bool {
        let asks = |it: &(String, RecordType)| it.0 == "ipv4only.arpa";
        let is_answered = self.known.v6.contains_key("ipv4only.arpa");
        self.needed().iter().any(asks) && !is_answered
    }
}

/// The transport that gives way, from the end, until all have room.
fn crowded(list: &[Tried]) -> Transport {
    let of = |transport| list.iter().filter(|it| it.transport == transport).count();
    let (quic, tcp) = (of(Transport::Quic), of(Transport::Tcp));
    match (quic > 32, tcp > 32) {
        (true, false) => Transport::Quic,
        (false, true) => Transport::Tcp,
        _ if quic > tcp => Transport::Quic,
        _ => Transport::Tcp,
    }
}

fn common_bits(from: IpAddr, to: IpAddr) -> Reverse<u32> {
    let (IpAddr::V6(from), IpAddr::V6(to)) = (from, to) else {
        return Reverse(0);
    };
    let is_equal = |bit: &u32| from.to_bits() >> (127 - bit) == to.to_bits() >> (127 - bit);
    Reverse((0..64).take_while(is_equal).count() as u32)
}
