//! Random answers and dials. The pure part says which endpoints there are in the end; a race that
//! loses a wake does not try them all.

use std::{collections::BTreeMap, io, time::Duration};

use proptest::{prelude::*, sample::select};
use race_connect::{
    ConnectError, ConnectFailure, Connected, HappyEyeballs,
    race_core::Moment,
    v3::{Endpoints, Network, Query, QueryFailed, Records, ServiceRecord},
};

use crate::host::{Dial, Guard, HANGS, Host, REFUSED, Reply, ms, name, origin, preferences};

/// Longer than all attempts together take.
const DEADLINE: u64 = 60_000;

fn latency() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..400_u64, 2 => select(vec![0, 10, 50, 250]), 1 => Just(HANGS)]
}

fn https() -> impl Strategy<Value = Reply> {
    let hinted = ServiceRecord::service(2, ".")
        .ipv4_hints([[192, 0, 2, b'e'].into()])
        .alpn(["h3"]);
    select(vec![
        Reply::Https(vec![]),
        crate::host::h3(),
        Reply::Https(vec![ServiceRecord::service(1, "b.test").alpn(["h3"])]),
        Reply::Https(vec![
            ServiceRecord::service(1, "b.test").port(8_443),
            hinted,
        ]),
        Reply::Https(vec![ServiceRecord::alias("b.test")]),
        Reply::Https(vec![ServiceRecord::alias("a.test")]),
        Reply::Https(vec![ServiceRecord::alias(".")]),
        Reply::Fails(io::ErrorKind::Other),
        Reply::A("a"),
    ])
}

fn aaaa() -> impl Strategy<Value = Reply> {
    select(vec![
        Reply::Aaaa(""),
        Reply::Aaaa("a"),
        Reply::Aaaa("abc"),
        Reply::Fails(io::ErrorKind::Other),
    ])
}

fn a() -> impl Strategy<Value = Reply> {
    select(vec![
        Reply::A(""),
        Reply::A("a"),
        Reply::A("dce"),
        Reply::Fails(io::ErrorKind::Other),
    ])
}

fn answers() -> impl Strategy<Value = Vec<(&'static str, u64, Reply)>> {
    let of = |https_name, aaaa_name, a_name| {
        (latency(), https(), latency(), aaaa(), latency(), a()).prop_map(
            move |(t1, https, t2, aaaa, t3, a)| {
                vec![
                    (https_name, t1, https),
                    (aaaa_name, t2, aaaa),
                    (a_name, t3, a),
                ]
            },
        )
    };
    let given = of("a.test HTTPS", "a.test AAAA", "a.test A");
    let other = of("b.test. HTTPS", "b.test. AAAA", "b.test. A");
    (given, other).prop_map(|(given, other)| [given, other].concat())
}

/// Most attempts fail, so that races are long.
fn dials() -> impl Strategy<Value = Vec<Dial>> {
    let names: Vec<&'static str> = ["Q", "T"]
        .into_iter()
        .flat_map(|transport| ["6", "4"].map(|family| format!("{transport}{family}")))
        .flat_map(|start| ["a", "b", "c", "d", "e"].map(|host| format!("{start}{host}")))
        .flat_map(|name| [format!("{name}:8443"), name])
        .map(|name| &*name.leak())
        .collect();
    let ends = prop_oneof![6 => Just(REFUSED), 1 => Just(Ok(()))];
    let outcomes = prop::collection::vec((latency(), ends), names.len());
    outcomes.prop_map(move |outcomes| {
        let dials = names.iter().zip(outcomes);
        dials
            .map(|(name, (latency, end))| (*name, latency, end))
            .collect()
    })
}

fn endpoints() -> Endpoints {
    Endpoints::new(origin(), Network::dual_stack(), preferences().seed(1))
}

/// What the pure part says in the end, and whether queries are left.
fn model(answers: &[(&'static str, u64, Reply)]) -> (Endpoints, bool) {
    let mut endpoints = endpoints();
    let mut asked: BTreeMap<(u64, usize), (Query, Reply)> = BTreeMap::new();
    let (mut now, mut has_open) = (0, false);
    loop {
        while let Some(query) = endpoints.next_query() {
            let dot = if query.is_absolute { "." } else { "" };
            let text = format!("{}{dot} {}", query.name, query.kind);
            let place = answers.iter().position(|it| it.0 == text).unwrap();
            match answers[place].1 {
                HANGS => has_open = true,
                latency => {
                    let reply = answers[place].2.clone();
                    asked.insert((now + latency, place), (query, reply));
                }
            }
        }
        let Some(((at, _), (query, reply))) = asked.pop_first() else {
            return (endpoints, has_open);
        };
        now = at;
        let records = reply.records().map_err(|_| QueryFailed);
        let is_right = |records: &Records| {
            std::mem::discriminant(records) == std::mem::discriminant(&query.kind.none())
        };
        let records = records.and_then(|it| {
            if is_right(&it) {
                Ok(it)
            } else {
                Err(QueryFailed)
            }
        });
        endpoints.answered(&query, records, Moment::from(ms(at)));
    }
}

fn check(
    host: &Host,
    answers: &[(&'static str, u64, Reply)],
    dials: &[Dial],
    ended: &Result<Connected<Guard>, ConnectError>,
) -> Result<(), TestCaseError> {
    let starts = host.starts();
    let outcome = |name: &str| dials.iter().find(|it| it.0 == name).unwrap();
    for pair in starts.windows(2) {
        prop_assert!(pair[1].1 >= pair[0].1 + 10, "{starts:?}");
        prop_assert!(starts.iter().filter(|it| it.0 == pair[0].0).count() == 1);
    }
    let connects = |(name, start): &(String, u64)| match outcome(name) {
        (_, latency, Ok(())) if *latency != HANGS => Some(start + latency),
        _ => None,
    };
    let first = starts.iter().filter_map(connects).min();
    let (last, has_open) = model(answers);
    let error = match ended {
        Ok(connected) => {
            let elapsed = connected.elapsed.as_millis() as u64;
            prop_assert_eq!(first, Some(elapsed));
            return Ok(());
        }
        Err(error) => error,
    };
    if last.refused().is_some() {
        prop_assert_eq!(error.reason(), ConnectFailure::NoService);
        return Ok(());
    }
    prop_assert_eq!(first, None, "{}", error);
    for endpoint in last.list() {
        let name = name(endpoint.peer());
        prop_assert!(starts.iter().any(|it| it.0 == name), "{name}: {starts:?}");
    }
    let hangs = starts.iter().filter(|it| outcome(&it.0).1 == HANGS).count();
    let is_late = error.reason() == ConnectFailure::Deadline(ms(DEADLINE));
    prop_assert_eq!(is_late, has_open || hangs > 0, "{}", error);
    prop_assert_eq!(error.unanswered().len(), if is_late { hangs } else { 0 });
    prop_assert_eq!(error.failed().len(), starts.len() - hangs);
    prop_assert!(is_late || host.clock.elapsed() < Duration::from_millis(DEADLINE));
    Ok(())
}

/// 4,000 cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 4_000;
    }
    config.failure_persistence = None;
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_endpoint_is_tried_until_one_connects(answers in answers(), dials in dials()) {
        let host = Host::new(answers.clone(), dials.clone());
        let settings = HappyEyeballs::new().deadline(ms(DEADLINE));
        let discovery = host.discovery().preferences(preferences().seed(1));
        let ended = host.connect_by(&settings, &discovery);
        check(&host, &answers, &dials, &ended)?;
    }
}
