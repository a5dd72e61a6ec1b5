//! `hickory_resolver` as a resolver.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use hickory_resolver::{
    ConnectionProvider, Resolver, lookup::Lookup, net::NetError, proto::rr::RData,
};

use crate::{Answer, Family, Resolve, sort_destinations, source_address};

mod records;

/// Asks for AAAA and A at once (RFC 8305, section 3). Each answer is sorted by RFC 6724. A name
/// that does not exist is a failure; a name without addresses of a family is not.
///
/// If the system's hosts file has the name for one family only, the name servers are still asked
/// for the other family.
#[cfg_attr(docsrs, doc(cfg(feature = "hickory")))]
impl<P: ConnectionProvider> Resolve for Resolver<P> {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> impl Stream<Item = Answer> + Send + 'a {
        // The query for AAAA is polled, and so sent, first.
        Lookups {
            queries: [
                Some((Family::V6, Box::pin(self.ipv6_lookup(host)) as Query<'a>)),
                Some((Family::V4, Box::pin(self.ipv4_lookup(host)))),
            ],
            port,
        }
    }
}

type Query<'a> = Pin<Box<dyn Future<Output = Result<Lookup, NetError>> + Send + 'a>>;

/// The queries of both families, in the order in which they finish.
struct Lookups<'a> {
    queries: [Option<(Family, Query<'a>)>; 2],
    port: u16,
}

impl Stream for Lookups<'_> {
    type Item = Answer;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        let port = self.port;
        let mut polled = Poll::Ready(None);
        for query in &mut self.queries {
            let Some((family, lookup)) = query else {
                continue;
            };
            match lookup.as_mut().poll(cx) {
                Poll::Pending => polled = Poll::Pending,
                Poll::Ready(looked_up) => {
                    let answer = answer(*family, looked_up, port);
                    *query = None;
                    return Poll::Ready(Some(answer));
                }
            }
        }
        polled
    }
}

fn answer(family: Family, looked_up: Result<Lookup, NetError>, port: u16) -> Answer {
    match looked_up {
        Ok(lookup) => {
            let ips = lookup
                .answers()
                .iter()
                .filter_map(|record| match &record.data {
                    RData::A(v4) => Some(IpAddr::V4(v4.0)),
                    RData::AAAA(v6) => Some(IpAddr::V6(v6.0)),
                    _ => None, // an alias on the way
                });
            let mut addresses: Vec<_> = ips.map(|ip| SocketAddr::new(ip, port)).collect();
            if addresses.is_empty() {
                return Answer::Ended(family);
            }
            sort_destinations(&mut addresses, source_address);
            Answer::Addresses(addresses)
        }
        Err(error) if error.is_nx_domain() => {
            let error = io::Error::new(io::ErrorKind::NotFound, error);
            Answer::Failed(family, error)
        }
        Err(error) if error.is_no_records_found() => Answer::Ended(family),
        Err(error) => Answer::Failed(family, io::Error::other(error)),
    }
}
