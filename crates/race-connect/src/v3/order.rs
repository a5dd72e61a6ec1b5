//! The order in which to try the endpoints of an origin: a function of all that is known.

use std::{collections::HashSet, net::IpAddr, time::Duration};

use super::{
    Endpoint, Name, Order, Transport,
    answers::{Address, Answers},
    services::{Service, Services},
};
use crate::destinations::Rank;

/// The most endpoints of an origin that are tried, of both transports together.
pub(super) const MAX_ENDPOINTS: usize = 64;

/// The addresses of one service, or of a host without one.
struct Group<'a> {
    service: Option<&'a Service>,
    name: Option<Name>,
    transports: Vec<Transport>,
    addresses: Vec<Address>,
}

/// Returns the endpoints, best first: grouped by service, sorted by RFC 6724, with interleaved
/// families. No two have the same address and transport.
pub(super) fn endpoints(answers: &Answers, services: &Services) -> Vec<Endpoint> {
    let groups = groups(answers, services);
    let transports = match answers.preferences.is_tcp_first {
        true => [Transport::Tcp, Transport::Quic],
        false => [Transport::Quic, Transport::Tcp],
    };
    let mut endpoints = Vec::new();
    let mut add = |group: &Group<'_>, transport| {
        if group.transports.contains(&transport) {
            let addresses = &interleaved(answers, &group.addresses);
            endpoints.extend(
                addresses
                    .iter()
                    .map(|it| endpoint(answers, group, transport, it)),
            );
        }
    };
    match answers.preferences.order {
        Order::Priority => {
            for group in &groups {
                transports.into_iter().for_each(|it| add(group, it));
            }
        }
        Order::QuicFirst => {
            for transport in transports {
                groups.iter().for_each(|group| add(group, transport));
            }
        }
    }
    let mut peers = HashSet::new();
    endpoints.retain(|it| peers.insert(it.peer()));
    limit(&mut endpoints);
    endpoints
}

/// Leaves the first endpoints, and half of the room to either transport as far as it needs that:
/// where UDP is blocked, no attempt over QUIC succeeds.
fn limit(endpoints: &mut Vec<Endpoint>) {
    let room = |other| {
        let others = endpoints.iter().filter(|it| it.transport == other);
        MAX_ENDPOINTS - others.count().min(MAX_ENDPOINTS / 2)
    };
    let (mut quic, mut tcp) = (room(Transport::Tcp), room(Transport::Quic));
    endpoints.retain(|it| {
        let room = match it.transport {
            Transport::Quic => &mut quic,
            Transport::Tcp => &mut tcp,
        };
        let is_left = *room > 0;
        *room = room.saturating_sub(1);
        is_left
    });
}

/// The services by priority, then the end of a chain of aliases, then the host itself.
fn groups<'a>(answers: &Answers, services: &'a Services) -> Vec<Group<'a>> {
    let port = answers.origin.port();
    let mut groups = Vec::new();
    for service in &services.services {
        let addresses = answers.of_service(service);
        groups.push(sorted(
            answers,
            Group {
                service: Some(service),
                name: Some(service.target.clone()),
                transports: service.transports.clone(),
                addresses,
            },
        ));
    }
    if services.are_required() || !answers.connects_over_tcp() {
        return groups;
    }
    let mut without_service = |name: &Name, shown: Option<&Name>| {
        // An endpoint that a record describes is used as that record says.
        let is_described =
            |it: &Service| it.target == *name && it.record.port.unwrap_or(port) == port;
        if !services.services.iter().any(is_described) {
            groups.push(sorted(
                answers,
                Group {
                    service: None,
                    name: shown.cloned(),
                    transports: vec![Transport::Tcp],
                    addresses: answers.of_name(name, port),
                },
            ));
        }
    };
    if let Some(alias) = &services.alias {
        without_service(alias, Some(alias));
    }
    without_service(answers.origin.host(), None);
    groups
}

fn sorted<'a>(answers: &Answers, mut group: Group<'a>) -> Group<'a> {
    let handshake = |ip: IpAddr| answers.preferences.history.as_ref()?.handshake(ip);
    match answers.network.sources.is_some() {
        true => group.addresses.sort_by_cached_key(|address| {
            // Over NAT64, an IPv4 address is reached if its synthesized form is.
            let source = answers.network.source(address.destination);
            Rank::new(address.ip, source, handshake(address.destination.ip()))
        }),
        false => group.addresses.sort_by_cached_key(|address| {
            // As rule 6 would: IPv6 first, whatever is known of the addresses.
            let handshake = handshake(address.destination.ip());
            (address.ip.is_ipv4(), handshake.unwrap_or(Duration::MAX))
        }),
    }
    group
}

/// Alternates the families: as many of the first one as it counts, then one of the other, and so
/// on.
fn interleaved(answers: &Answers, addresses: &[Address]) -> Vec<Address> {
    let preferences = &answers.preferences;
    let first = preferences
        .prefer
        .or_else(|| addresses.first().map(Address::family));
    let (first, other): (Vec<_>, Vec<_>) = addresses
        .iter()
        .cloned()
        .partition(|it| Some(it.family()) == first);
    let (mut first, mut other) = (first.into_iter(), other.into_iter());
    let mut list: Vec<_> = first
        .by_ref()
        .take(preferences.first_family_count)
        .collect();
    while first.len() + other.len() > 0 {
        list.extend(other.next());
        list.extend(first.next());
    }
    list
}

fn endpoint(
    answers: &Answers,
    group: &Group<'_>,
    transport: Transport,
    address: &Address,
) -> Endpoint {
    let protocols = &answers.preferences.protocols;
    Endpoint {
        address: address.destination,
        transport,
        alpn: match answers.origin.is_secure() {
            true => protocols.of(transport).clone(),
            false => [].into(),
        },
        ech: group.service.and_then(|it| it.ech.clone()),
        service: group.name.clone(),
        family: address.family(),
    }
}
