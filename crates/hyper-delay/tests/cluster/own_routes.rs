//! The routes that nodes make for connections that schedule without one.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Etcd, PATIENCE};

use super::{
    book::now,
    line::{Came, Line},
    nodes::{NODES, Nodes},
};

/// Sends a request once, and returns the reply.
fn ask(line: &mut Line, request: &Value) -> Value {
    assert!(line.send(request), "the connection has ended: {request}");
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match line.next() {
            Came::Line(reply) => return reply,
            Came::Nothing => {}
            Came::End => break,
        }
    }
    panic!("no reply to {request}");
}

/// Asks a node until the reply is the one that is waited for.
fn until(address: SocketAddr, request: &Value, is_it: impl Fn(&Value) -> bool) -> Value {
    let mut line = Line::connect(address).expect("the node listens");
    repeat(&mut line, request, is_it)
}

/// Repeats a request until the reply is the one that is waited for.
fn repeat(line: &mut Line, request: &Value, is_it: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let last = ask(line, request);
        if is_it(&last) {
            return last;
        }
        assert!(begun.elapsed() < PATIENCE, "{request}: {last}");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn tasks_of_a_client_are_orphaned_at_no_node_until_it_is_gone() {
    if !Etcd::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let nodes = Nodes::start(folder.path(), false);
    let address = |node| nodes.map().address(node).expect("it runs");
    let mut client = Line::connect(address(0)).expect("the node listens");
    let fire_at = now() + 86_400_000;
    let schedule = json!({"kind": "schedule", "id": "task", "fire_at": fire_at});
    let is_scheduled = |reply: &Value| reply["kind"] == "ack";
    let scheduled = repeat(&mut client, &schedule, is_scheduled);
    let route = scheduled["route_key"].as_str().expect("it has a route");
    let (stats, dead) = (
        json!({"kind": "stats"}),
        json!({"kind": "dead", "route_key": route}),
    );
    for node in 0..NODES {
        let shown = until(address(node), &stats, |it| it["orphaned"] == 0);
        assert_eq!(shown["waiting"], 1, "{shown}");
        assert_eq!(shown["routes"][0].get("orphaned"), None, "{shown}");
        let shown = until(address(node), &dead, |it| it["kind"] == "dead");
        assert_eq!(shown["tasks"], json!([]));
    }
    drop(client);
    for node in 0..NODES {
        let shown = until(address(node), &stats, |it| it["orphaned"] == 1);
        assert_eq!(shown["routes"][0]["orphaned"], true, "{shown}");
        let shown = until(address(node), &dead, |it| it["kind"] == "dead");
        assert_eq!(shown["tasks"][0]["orphaned"], true, "{shown}");
    }
}
