use std::fmt::Write as _;

use serde_json::json;
use testkit::Peer;

use crate::server::Server;

fn register(peer: &mut Peer, route: &str) -> String {
    let reply = peer.ask(&format!(r#"{{"kind":"register","route_key":"{route}"}}"#));
    let field = if reply["kind"] == "error" {
        "code"
    } else {
        "kind"
    };
    reply[field].as_str().expect("it is a text").to_owned()
}

#[test]
fn a_connection_may_register_max_routes_per_connection() {
    let server = Server::start(json!({"max_routes_per_connection": 3}));
    let mut peer = server.peer();
    for route in ["a", "b", "c", "a"] {
        assert_eq!(register(&mut peer, route), "registered");
    }
    assert_eq!(register(&mut peer, "d"), "too_many_routes");
    let own = r#"{"kind":"schedule","id":"x","fire_at":1}"#;
    assert_eq!(peer.code(own), "too_many_routes");
    peer.ask(r#"{"kind":"unregister","route_key":"b"}"#);
    assert_eq!(register(&mut peer, "d"), "registered");
    assert_eq!(register(&mut server.peer(), "e"), "registered");
}

#[test]
fn all_connections_may_register_max_routes() {
    let server = Server::start(json!({"max_routes": 4}));
    let mut first = server.peer();
    let mut second = server.peer();
    for route in ["a", "b"] {
        assert_eq!(register(&mut first, route), "registered");
        assert_eq!(register(&mut second, route), "registered");
    }
    assert_eq!(register(&mut second, "c"), "too_many_routes");
    // A takeover ends the registration of the other connection, and adds none.
    let exclusive = second.register_with("a", r#""mode":"exclusive""#);
    assert_eq!(exclusive["kind"], "registered");
    assert_eq!(register(&mut second, "c"), "registered");
    assert_eq!(register(&mut second, "d"), "too_many_routes");
    drop(first);
    let stats = |peer: &mut Peer| peer.all_stats();
    second.until(stats, |stats| stats["connections"] == 1);
    assert_eq!(register(&mut second, "d"), "registered");
}

#[test]
fn a_connection_with_many_routes_closes_in_steps_and_delays_no_consumer() {
    const ROUTES: usize = 20_000;
    let server = Server::start(json!({"max_routes_per_connection": ROUTES}));
    let mut honest = server.consumer("a");
    let mut attacker = server.peer();
    let mut lines = String::new();
    for route in 0..ROUTES {
        let _ = writeln!(lines, r#"{{"kind":"register","route_key":"r{route}"}}"#);
    }
    let mut writer = attacker.stream().try_clone().expect("it is open");
    let sending = std::thread::spawn(move || {
        std::io::Write::write_all(&mut writer, lines.as_bytes()).expect("the server takes it");
    });
    for _ in 0..ROUTES {
        attacker.kind("registered");
    }
    sending.join().expect("it does not panic");
    assert_eq!(register(&mut attacker, "one-more"), "too_many_routes");
    drop(attacker);
    for id in 0..20 {
        honest.due("a", &id.to_string());
        let delivery = honest.delivery();
        assert!(honest.removes(&delivery));
    }
    // At the end only the honest route has a consumer.
    honest.until(Peer::all_stats, |stats| stats["routes"] == json!([{
        "route_key": "a", "waiting": 0, "parked": 0, "in_flight": 0, "dead": 0, "retrying": 0,
        "consumers": 1
    }]));
}
