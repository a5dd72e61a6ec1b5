//! A client that schedules, and repeats what was not acknowledged.

use std::{sync::atomic::Ordering, thread, time::Duration};

use serde_json::json;

use super::{
    book::{Book, now},
    line::{Came, Line},
    route,
};

/// Schedules on one route until it is told to stop.
pub(crate) fn run(book: &Book, number: usize, half: usize) {
    let mut random = fastrand::Rng::with_seed((2 * number + half) as u64);
    let mut line = None;
    let mut node = number + half;
    for count in 0.. {
        if !book.produces.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("{number}-{half}-{count}");
        let begin = now();
        let at = match random.u8(0..4) {
            0 => 0,
            _ => begin + random.u64(0..1_500),
        };
        // All nodes have the clock of this machine, so the delay ends at `at` or later.
        // A node of 0.3 knows no delays, and does not follow a journal with one.
        let has_delay = random.bool() && !book.is_upgrade;
        let delay_ms = has_delay.then(|| at.saturating_sub(begin));
        book.schedules(&id, at);
        let request = json!({
            "kind": "schedule",
            "route_key": route(number),
            "id": id,
            "fire_at": delay_ms.is_none().then_some(at),
            "delay_ms": delay_ms,
            "payload_base64": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        });
        // A task whose schedule is not acknowledged may exist, so its producer does not give up.
        while !attempt(book, &mut line, node, &request) {
            line = None;
            node += 1;
            thread::sleep(Duration::from_millis(20));
        }
        book.scheduled(number, &id);
        thread::sleep(Duration::from_millis(random.u64(10..60)));
    }
}

fn attempt(book: &Book, line: &mut Option<Line>, node: usize, request: &serde_json::Value) -> bool {
    let strict = node.is_multiple_of(2) && !book.is_upgrade;
    if line.is_none() {
        let connected = book.address(node).and_then(Line::connect);
        *line = connected.filter(|line| line.greet(strict));
    }
    let Some(line) = line else {
        return false;
    };
    loop {
        if !line.send(request) {
            return false;
        }
        loop {
            match line.next() {
                Came::Line(reply) if Line::is_greeting(&reply, strict) => {}
                Came::Line(reply) if reply["kind"] == "ack" => return true,
                // A node of the other release reaches the leader perhaps.
                Came::Line(reply) if reply["code"] == "unavailable" && book.is_upgrade => {
                    return false;
                }
                Came::Line(reply) if reply["code"] == "unavailable" => break,
                // A full disk is a matter of one node, and the next attempt may find another leader.
                Came::Line(reply) if reply["code"] == "disk_full" => return false,
                Came::Line(reply) if reply["code"] == "shutting_down" => return false,
                Came::Line(reply) => panic!("to a schedule: {reply}"),
                // A request waits for a leader for one lease at most.
                Came::Nothing if book.is_well(node) => {}
                Came::Nothing | Came::End => return false,
            }
        }
    }
}
