use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use testkit::{Peer, request::schedule};

use crate::server::Server;

/// Enough for the client's ends of all connections. The server inherits the limit.
const FILES: u64 = 4096;

fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= FILES) {
        return;
    }
    let more = Rlimit {
        current: Some(FILES),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, more).expect("the hard limit allows 4,096 open files");
}

#[test]
fn a_thousand_connections_get_a_task_each() {
    const COUNT: usize = 1000;
    allow_files();
    let server = Server::start(json!({}));
    let mut peers: Vec<Peer> = (0..COUNT)
        .map(|place| server.consumer(&format!("r{place}")))
        .collect();
    let mut producer = server.peer();
    assert_eq!(producer.all_stats()["connections"], COUNT + 1);
    let tags: Vec<String> = (0..COUNT)
        .map(|place| producer.ask_later(&schedule(&format!("r{place}"), "1", 1)))
        .collect();
    for tag in &tags {
        assert_eq!(producer.answer(tag)["kind"], "ack");
    }
    for (place, peer) in peers.iter_mut().enumerate() {
        let delivery = peer.delivery();
        assert_eq!(delivery["route_key"], format!("r{place}"));
        assert!(peer.removes(&delivery));
    }
    drop(peers);
    let stats = producer.until(Peer::all_stats, |stats| stats["connections"] == 1);
    assert_eq!(
        (&stats["waiting"], &stats["routes"]),
        (&json!(0), &json!([]))
    );
}
