//! A client that takes deliveries.

use std::{collections::HashSet, sync::atomic::Ordering, thread, time::Duration};

use serde_json::{Value, json};

use super::{
    ROUTES,
    book::Book,
    line::{Came, Line},
    route,
};

/// Takes deliveries of all routes until it is told to stop. Now and then it goes to another node.
pub(crate) fn run(book: &Book, number: usize) {
    let mut random = fastrand::Rng::with_seed(1_000 + number as u64);
    while book.consumes.load(Ordering::Relaxed) {
        let node = match book.is_upgrade {
            // So that tasks of each release have a consumer.
            true => number,
            false => random.usize(..),
        };
        let line = book.address(node).and_then(Line::connect);
        match line {
            Some(line) => {
                let mut unanswered = HashSet::new();
                take(book, line, (node, &mut unanswered), &mut random);
                for id in unanswered {
                    book.perhaps_acked(&id);
                }
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Takes deliveries over one connection. Notes the acks that have no answer.
fn take(
    book: &Book,
    mut line: Line,
    (node, unanswered): (usize, &mut HashSet<String>),
    random: &mut fastrand::Rng,
) {
    let strict = random.bool() && !book.is_upgrade;
    line.greet(strict);
    for number in 0..ROUTES {
        register(&line, number);
    }
    let mut silent = 0;
    let most = random.usize(200..5_000);
    for _ in 0..most {
        if !book.consumes.load(Ordering::Relaxed) {
            return;
        }
        let came = match line.next() {
            Came::Line(came) => came,
            Came::Nothing if silent < 3 => {
                silent += 1;
                line.send(&json!({"kind": "ping"}));
                continue;
            }
            Came::Nothing | Came::End => return,
        };
        silent = 0;
        if Line::is_greeting(&came, strict) {
            continue;
        }
        match came["kind"].as_str().unwrap_or_default() {
            "delivery" => {
                let id = text(&came, "id");
                book.delivered(id, node);
                let answer = match random.u8(0..20) {
                    0 => "nack",
                    // It is not answered, and delivered again when its time is over.
                    1 => continue,
                    _ => "ack",
                };
                let mut echo = json!({
                    "kind": answer,
                    "id": id,
                    "route_key": came["route_key"],
                    "attempt": came["attempt"],
                });
                if answer == "ack" {
                    echo["confirm"] = true.into();
                    unanswered.insert(id.to_owned());
                }
                line.send(&echo);
            }
            "acked" => {
                let id = text(&came, "id");
                unanswered.remove(id);
                book.acked(id, came["removed"] == true);
            }
            "error" => match (came["code"].as_str(), came["id"].as_str()) {
                // Whether the ack took effect is not known.
                (Some("unavailable"), Some(id)) => book.perhaps_acked(id),
                // A registration: the route is in its name.
                (Some("unavailable"), None) => {
                    let number = text(&came, "route_key").rsplit('-').next();
                    register(
                        &line,
                        number.expect("it has one").parse().expect("a number"),
                    );
                }
                (Some("shutting_down"), _) => return,
                _ => panic!("to a consumer: {came}"),
            },
            "registered" | "pong" => {}
            "unregistered" => panic!("nobody takes routes: {came}"),
            other => panic!("{other}: {came}"),
        }
    }
}

fn register(line: &Line, number: usize) {
    line.send(&json!({"kind": "register", "route_key": route(number), "credit": 32}));
}

fn text<'a>(line: &'a Value, field: &str) -> &'a str {
    let value = line[field].as_str();
    value.unwrap_or_else(|| panic!("{field} is missing: {line}"))
}
