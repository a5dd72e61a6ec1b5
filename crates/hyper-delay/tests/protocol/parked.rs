use serde_json::json;
use testkit::{
    Peer,
    request::{echo, now, schedule},
};

use crate::server::Server;

/// Schedules tasks for times in the near future, in random order. Their ids are their positions in
/// order of time. Returns the last time.
fn out_of_order(producer: &mut Peer, count: u64) -> u64 {
    let mut lead = 300;
    // A task whose time has passed is due at once, so all must be scheduled before their times.
    loop {
        let start = now() + lead;
        let tags: Vec<String> = (0..count)
            .map(|place| {
                let place = place * 37 % count;
                let line = schedule("a", &place.to_string(), start + place / 2);
                producer.ask_later(&line.replacen('{', r#"{"replace":true,"#, 1))
            })
            .collect();
        for tag in tags {
            assert_eq!(producer.answer(&tag)["kind"], "ack");
        }
        if now() < start {
            return start + count / 2;
        }
        lead *= 2;
    }
}

fn parked(producer: &mut Peer, count: u64) {
    out_of_order(producer, count);
    producer.stats_until("a", |stats| stats["parked"] == count);
}

fn in_order(peer: &mut Peer, count: u64) {
    let mut last = 0;
    for _ in 0..count {
        let delivery = peer.delivery();
        let at = delivery["fire_at"].as_u64().expect("it is a number");
        assert!(at >= last, "{delivery} after {last}");
        last = at;
        peer.send(echo("ack", &delivery));
    }
    peer.quiet();
    peer.stats_until("a", |stats| stats["parked"] == 0 && stats["waiting"] == 0);
}

#[test]
fn register_delivers_parked_tasks_in_order_of_time_within_credit() {
    let server = Server::start(json!({}));
    let mut producer = server.peer();
    parked(&mut producer, 100);
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":3"#);
    let first = [(); 3].map(|()| peer.delivery());
    peer.quiet();
    let times = first
        .each_ref()
        .map(|delivery| delivery["fire_at"].as_u64());
    assert!(times.is_sorted());
    for delivery in &first {
        peer.send(echo("ack", delivery));
    }
    in_order(&mut peer, 97);
}

#[test]
fn parked_tasks_arrive_in_order_with_little_memory() {
    let server = Server::start(json!({"ready_channel_capacity": 4, "window_tasks": 1000}));
    let mut producer = server.peer();
    parked(&mut producer, 2000);
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":10"#);
    in_order(&mut peer, 2000);
}

#[test]
fn tasks_wait_in_order_of_time_while_the_consumer_has_no_room() {
    let server = Server::start(json!({"ready_channel_capacity": 4}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1"#);
    peer.due("a", "first");
    let first = peer.delivery();
    let mut producer = server.peer();
    let last = out_of_order(&mut producer, 50);
    producer.plan("b", "mark", last + 1);
    producer.stats_until("b", |stats| stats["parked"] == 1);
    peer.send(echo("ack", &first));
    in_order(&mut peer, 50);
}

#[test]
fn a_second_consumer_receives_some_of_the_parked_tasks() {
    let server = Server::start(json!({}));
    let mut producer = server.peer();
    parked(&mut producer, 20);
    let mut first = server.peer();
    first.register_with("a", r#""credit":8"#);
    let mut second = server.peer();
    second.register_with("a", r#""credit":12"#);
    let mut ids: Vec<_> = (0..8).map(|_| first.delivery()["id"].to_string()).collect();
    ids.extend((0..12).map(|_| second.delivery()["id"].to_string()));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    first.quiet();
    second.quiet();
}
