use std::time::Duration;

use race_core::Moment;

use super::*;
use crate::Next;

fn at(millis: u64) -> Moment {
    Duration::from_millis(millis).into()
}

#[test]
fn hints_start_at_once_and_addresses_are_asked_for() {
    let preferences = Preferences::new().protocols(Protocols::new().quic(["h3"]));
    let origin = Origin::https("example.com", 443);
    let mut endpoints = Endpoints::new(origin, Network::dual_stack(), preferences);
    let queries: Vec<_> = std::iter::from_fn(|| endpoints.next_query()).collect();
    let texts: Vec<_> = queries.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["example.com HTTPS", "example.com AAAA", "example.com A"]
    );
    let record = ServiceRecord::service(1, "svc.example.net.")
        .alpn(["h3"])
        .ipv6_hints(["2001:db8::1".parse().unwrap()]);
    endpoints.answered(&queries[0], Ok(Records::Https(vec![record])), at(30));
    let Next::Start(first) = endpoints.next(at(30)) else {
        panic!("{endpoints:?}");
    };
    assert_eq!(first.to_string(), "[2001:db8::1]:443 (QUIC)");
    let queries: Vec<_> = std::iter::from_fn(|| endpoints.next_query()).collect();
    let texts: Vec<_> = queries.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["svc.example.net AAAA", "svc.example.net A"]);
}
