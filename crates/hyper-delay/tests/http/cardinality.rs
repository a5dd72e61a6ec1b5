use serde_json::{Value, json};
use testkit::request::{later, schedule};

use crate::server::{Server, schedule_all};

/// The families that have a row for each route.
const BY_ROUTE: [&str; 5] = [
    "pending_tasks",
    "due_within_minute_tasks",
    "ready_tasks",
    "in_flight_tasks",
    "dead_tasks",
];

#[test]
fn of_a_thousand_routes_the_hundred_with_the_most_tasks_are_shown() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    // Every tenth route has two tasks.
    let lines = (0..1_000).flat_map(|route| {
        let name = format!("r{route}");
        let ids = 0..=u32::from(route % 10 == 3);
        ids.map(move |id| schedule(&name, &id.to_string(), later()))
    });
    schedule_all(&mut peer, lines);
    let metrics = server.until(&[(r#"pending_tasks{route="other"}"#, 900.0)]);
    for family in BY_ROUTE {
        assert_eq!(metrics.routes(family).len(), 101, "{family}");
    }
    for (route, tasks) in metrics.routes("pending_tasks") {
        let number = route
            .strip_prefix('r')
            .map(|number| number.parse::<u32>().unwrap());
        match number {
            Some(number) => assert_eq!((number % 10, tasks), (3, 2.0), "{route}"),
            None => assert_eq!(route, "other"),
        }
    }
}

#[test]
fn a_route_that_is_called_other_is_among_the_others() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.plan("other", "1", later());
    peer.plan("a", "1", later());
    let metrics = server.until(&[
        (r#"pending_tasks{route="other"}"#, 1.0),
        (r#"pending_tasks{route="a"}"#, 1.0),
    ]);
    assert_eq!(metrics.routes("pending_tasks").len(), 2);
}

#[test]
fn a_hostile_name_of_a_route_stays_a_label() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let hostile = "a\"} 1\n# EOF\n\\";
    let line = json!({"kind": "schedule", "route_key": hostile, "id": "1", "fire_at": later()});
    let reply: Value = peer.ask(&line.to_string());
    assert_eq!(reply["kind"], "ack", "{reply}");
    server.until(&[(r#"pending_tasks{route="a\"} 1\n# EOF\n\\"}"#, 1.0)]);
}

#[test]
fn the_row_of_a_route_goes_with_its_last_task() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.plan("a", "1", later());
    server.until(&[(r#"pending_tasks{route="a"}"#, 1.0)]);
    peer.ask(r#"{"kind":"cancel","id":"1","route_key":"a"}"#);
    let start = std::time::Instant::now();
    while server.scrape().has(r#"pending_tasks{route="a"}"#) {
        assert!(start.elapsed() < testkit::PATIENCE);
    }
}
