//! Orphaned tasks: the server made their route for a connection, and none has it registered.

use serde_json::{Value, json};
use testkit::request::later;

use crate::server::Server;

/// Schedules a task that is due and one for later on a connection's own route, closes the
/// connection, and returns the route.
fn orphans(server: &Server) -> String {
    let mut peer = server.peer();
    let reply = peer.ask(r#"{"kind":"schedule","id":"due","fire_at":1}"#);
    let route = reply["route_key"]
        .as_str()
        .expect("it has a route")
        .to_owned();
    peer.plan(&route, "later", later());
    peer.delivery();
    route
}

#[test]
fn stats_and_dead_mark_orphaned_tasks() {
    let server = Server::start(json!({"retry_delay_ms": 1}));
    let mut operator = server.peer();
    operator.due("a", "other");
    assert_eq!(operator.all_stats()["orphaned"], 0);
    let route = orphans(&server);
    let stats = operator.until(
        |peer| peer.all_stats(),
        |stats| stats["orphaned"] == 2 && stats["parked"] == 2,
    );
    let rows = stats["routes"].as_array().expect("it has rows");
    let is_orphaned = |row: &&Value| row["orphaned"] == true;
    let orphaned: Vec<&Value> = rows.iter().filter(is_orphaned).collect();
    assert_eq!(
        (orphaned.len(), &orphaned[0]["route_key"]),
        (1, &json!(route))
    );

    let dead = operator.ask(&format!(
        r#"{{"kind":"dead","route_key":"{route}","limit":1}}"#
    ));
    let task = &dead["tasks"][0];
    assert_eq!(
        (&task["id"], &task["orphaned"]),
        (&json!("due"), &json!(true))
    );
    assert_eq!((&task["died_at"], &dead["more"]), (&json!(0), &json!(true)));
    let rest = format!(r#"{{"kind":"dead","route_key":"{route}","after":"due"}}"#);
    let rest = operator.ask(&rest);
    assert_eq!(
        (&rest["tasks"][0]["id"], &rest["more"]),
        (&json!("later"), &json!(false))
    );
}

#[test]
fn orphaned_tasks_are_delivered_to_a_consumer_of_their_route() {
    let server = Server::start(json!({"retry_delay_ms": 1}));
    let route = orphans(&server);
    let mut consumer = server.consumer(&route);
    let delivery = consumer.delivery();
    assert_eq!(delivery["id"], "due");
    assert!(consumer.removes(&delivery));
}

#[test]
fn orphaned_tasks_can_be_cancelled() {
    let server = Server::start(json!({}));
    let route = orphans(&server);
    let mut operator = server.peer();
    for id in ["due", "later"] {
        let cancel = format!(r#"{{"kind":"cancel","id":"{id}","route_key":"{route}"}}"#);
        assert_eq!(operator.ask(&cancel)["found"], true);
    }
    assert_eq!(operator.all_stats()["orphaned"], 0);
}
