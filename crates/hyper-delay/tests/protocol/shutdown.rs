use std::net::TcpStream;

use serde_json::json;
use testkit::request::{later, schedule};

use crate::server::Server;

#[test]
fn the_server_stops_without_waiting_for_consumers() {
    let mut server = Server::start(json!({"ack_timeout_ms": 3_600_000}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    peer.delivery();
    let ended = server.ask_to_stop().join().expect("it does not panic");
    assert!(ended.is_ok());
    assert_eq!(peer.line(), None);
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn a_server_without_connections_stops() {
    drop(Server::start(json!({})));
}

#[test]
fn exactly_the_acknowledged_tasks_are_on_disk_after_shutdown() {
    for round in 0..5 {
        let mut server = Server::start(json!({"sync": "always"}));
        let mut peer = server.peer();
        let mut writer = peer.stream().try_clone().expect("it is open");
        let sending = std::thread::spawn(move || {
            use std::io::Write;
            let at = later();
            // Until the server stops reading.
            (0..).find(|id| writeln!(writer, "{}", schedule("a", &format!("{id}"), at)).is_err())
        });
        for _ in 0..=round * 300 {
            assert_eq!(peer.kind("ack")["route_key"], "a");
        }
        let ending = server.ask_to_stop();
        let (acks, refused): (Vec<_>, Vec<_>) = peer
            .rest()
            .into_iter()
            .partition(|line| line["kind"] == "ack");
        assert!(refused.iter().all(|line| line["code"] == "shutting_down"));
        let answered = round * 300 + 1 + acks.len();
        drop(peer);
        ending
            .join()
            .expect("it does not panic")
            .expect("it ends in order");
        sending.join().expect("it does not panic");
        let server = server.again(json!({}));
        assert_eq!(server.peer().stats("a")["waiting"], answered);
    }
}
