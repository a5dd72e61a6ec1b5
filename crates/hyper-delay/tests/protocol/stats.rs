use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, later, schedule},
};

use crate::server::Server;

#[test]
fn ping_is_answered() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.exact(r#"{"kind":"ping"}"#, r#"{"kind":"pong"}"#);
}

#[test]
fn tasks_are_counted_by_state_and_route() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.peer();
    peer.exact(
        r#"{"kind":"stats"}"#,
        r#"{"kind":"stats","waiting":0,"parked":0,"in_flight":0,"dead":0,"retrying":0,"connections":1,"unknown_acks":0,"orphaned":0,"routes":[],"more":false}"#,
    );
    let _third = server.consumer("c");
    for id in ["1", "2", "3"] {
        peer.plan("waiting", id, later());
        peer.due("parked", id);
    }
    let mut consumer = server.consumer("b");
    for id in ["1", "2"] {
        consumer.due("b", id);
    }
    let dead = consumer.delivery();
    consumer.delivery();
    consumer.send(echo("nack", &dead));
    consumer.send(r#"{"kind":"ack","id":"unknown"}"#);
    consumer.stats_until("b", |stats| stats["dead"] == 1);
    peer.stats_until("parked", |stats| stats["parked"] == 3);
    let row = |route: &str, counts: [u64; 4], consumers: u64| {
        let [waiting, parked, in_flight, dead] = counts;
        json!({"route_key": route, "waiting": waiting, "parked": parked, "in_flight": in_flight, "dead": dead, "retrying": 0, "consumers": consumers})
    };
    let rows = [
        row("b", [1, 0, 1, 1], 1),
        row("c", [0, 0, 0, 0], 1),
        row("parked", [0, 3, 0, 0], 0),
        row("waiting", [3, 0, 0, 0], 0),
    ];
    peer.send(r#"{"kind":"stats"}"#);
    let counts = json!({
        "kind": "stats", "waiting": 4, "parked": 3, "in_flight": 1, "dead": 1, "retrying": 0, "connections": 3, "unknown_acks": 1, "orphaned": 0,
    });
    let with = |routes: Value, more: bool| {
        let mut stats = counts.clone();
        stats["routes"] = routes;
        stats["more"] = json!(more);
        stats
    };
    assert_eq!(peer.kind("stats"), with(json!(rows), false));
    peer.send(r#"{"kind":"stats","after":"c"}"#);
    assert_eq!(peer.kind("stats"), with(json!(rows[2..]), false));
    peer.send(r#"{"kind":"stats","after":"bb"}"#);
    assert_eq!(peer.kind("stats"), with(json!(rows[1..]), false));
    peer.send(r#"{"kind":"stats","route_key":"b"}"#);
    assert_eq!(peer.kind("stats"), with(json!([rows[0]]), false));
    peer.send(r#"{"kind":"stats","route_key":"nowhere"}"#);
    assert_eq!(peer.kind("stats")["routes"], json!([]));
}

/// Reads all pages of routes, and asserts that each page fits into a line.
fn pages(peer: &mut Peer, line: usize) -> (Vec<String>, Vec<usize>) {
    let mut routes = Vec::new();
    let mut sizes = Vec::new();
    let mut after = String::new();
    loop {
        peer.send(format!(r#"{{"kind":"stats"{after}}}"#));
        let page = peer.line().expect("it is answered");
        assert!(page.len() <= line, "a page has {} bytes", page.len());
        let page: Value = serde_json::from_str(&page).expect("it is JSON");
        let rows = page["routes"].as_array().expect("it is a list");
        sizes.push(rows.len());
        let names = rows
            .iter()
            .map(|row| row["route_key"].as_str().map(str::to_owned));
        routes.extend(names.map(|name| name.expect("it is a text")));
        if page["more"] == false {
            return (routes, sizes);
        }
        let last = rows.last().expect("a page is not empty if there are more");
        after = format!(r#","after":{}"#, last["route_key"]);
    }
}

fn with_routes(names: &[String], config: Value) -> (Server, Peer) {
    let server = Server::start(config);
    let mut peer = server.peer();
    for (place, name) in names.iter().enumerate() {
        // Some have tasks, some consumers, some both.
        if place % 3 != 0 {
            let name = Value::from(name.as_str());
            peer.send(format!(r#"{{"kind":"register","route_key":{name}}}"#));
            peer.kind("registered");
        }
        if place % 3 != 1 {
            let name = Value::from(name.as_str()).to_string();
            let line = schedule("ROUTE", "1", later()).replace(r#""ROUTE""#, &name);
            assert_eq!(peer.ask(&line)["kind"], "ack");
        }
    }
    (server, peer)
}

#[test]
fn routes_are_listed_in_pages_in_order_of_name() {
    let mut names: Vec<String> = (0..700)
        .map(|place| "é".repeat(place % 60) + &(place * 37 % 700).to_string())
        .collect();
    let (_server, mut peer) = with_routes(&names, json!({"max_line_bytes": 8192}));
    names.sort_unstable();
    let (found, sizes) = pages(&mut peer, 8192);
    assert_eq!(found, names);
    assert!(sizes.len() > 5, "{sizes:?}");
}

#[test]
fn a_page_has_at_most_a_thousand_routes() {
    let mut names: Vec<String> = (0..1500).map(|place| format!("r{}", place * 7)).collect();
    let (_server, mut peer) = with_routes(&names, json!({"max_line_bytes": 16_777_216}));
    names.sort_unstable();
    let (found, sizes) = pages(&mut peer, 16_777_216);
    assert_eq!((found, sizes), (names, vec![1000, 500]));
}

#[test]
fn a_page_fits_into_a_line_whatever_the_names() {
    let escapes = ["\0", "\u{1}", "\u{7f}", "\"", "\\", "😀", "日", "é"];
    let mut names: Vec<String> = (0..24)
        .map(|place| {
            let escape = escapes[place % escapes.len()];
            escape.repeat(126 / escape.len()) + &format!("{place:02}")
        })
        .collect();
    for line in [2048, 8192] {
        let (_server, mut peer) = with_routes(&names, json!({"max_line_bytes": line}));
        names.sort_unstable();
        assert_eq!(pages(&mut peer, line).0, names);
    }
}
