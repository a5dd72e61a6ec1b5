use std::thread;

use serde_json::json;
use testkit::request::{now, schedule};

use crate::{
    bulk::{all_done, schedule_all, take_all},
    server::Server,
};

#[test]
fn a_hundred_thousand_tasks_of_one_millisecond_are_delivered_once_each() {
    const COUNT: usize = 100_000;
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":65535"#);
    let at = now() + 5_000;
    // On a slow machine the first tasks are due before the last are scheduled, so the consumer
    // reads from the start.
    let producer = server.peer();
    let line = move |id: usize| schedule("a", &id.to_string(), at);
    let mut ids = thread::scope(|scope| {
        scope.spawn(|| schedule_all(producer, COUNT, line));
        take_all(&mut peer, COUNT)
    });
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..COUNT));
    all_done(peer, &server, "a");
}
