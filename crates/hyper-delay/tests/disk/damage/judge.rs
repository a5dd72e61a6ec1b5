//! What a server makes of a damaged store, judged by delivering every task.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    PATIENCE, Server, Wire,
    wire::{Disconnected, line, text},
};

use super::fixture::{Expected, Name, ROUTES, Received, start};

/// Without a delivery for this long a server has nothing more to deliver, whatever its counts say.
/// If that would make it guilty, it gets `PATIENCE`: the machine may be slow.
const SILENCE: Duration = Duration::from_secs(2);

/// The names that a message can give what is damaged.
const PLACES: [&str; 14] = [
    ".jnl",
    "store/lock",
    "keyspaces",
    "record",
    "version",
    "tasks",
    "names",
    "waiting",
    "parked",
    "dead",
    "done-even",
    "done-odd",
    "counts",
    "meta",
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Every task is there.
    Whole,
    /// Some tasks are missing; each is a dead letter with a reason.
    Named,
    /// The server ended, named a place and the tools.
    Refused,
    /// The server ended without that.
    Unexplained(String),
    /// A finished task came again.
    Undone(String),
    /// Tasks are missing, without a word.
    Lost(String),
}

impl Verdict {
    pub(super) const fn is_fault(&self) -> bool {
        !matches!(self, Self::Whole | Self::Named | Self::Refused)
    }

    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Whole => "all there",
            Self::Named => "named",
            Self::Refused => "refused",
            Self::Unexplained(_) => "unexplained",
            Self::Undone(_) => "undone",
            Self::Lost(_) => "lost",
        }
    }
}

/// What a server delivered and listed.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) delivered: BTreeMap<Name, Received>,
    /// Dead letters; whether the server gives a reason.
    pub(super) dead: BTreeMap<Name, bool>,
    /// Whether a request for dead letters was answered with the error `damaged`.
    is_damage_named: bool,
}

/// Starts a server over the data directory `data` below `directory`, and takes every task.
pub(super) fn judge(directory: &Path, expected: &Expected) -> Verdict {
    let server = match start(directory).try_run() {
        Ok(server) => server,
        Err(log) => return refusal(&log),
    };
    match take_all(&server, expected) {
        Ok(found) => compare(&found, expected),
        Err(Disconnected) => {
            let closed_at = Instant::now();
            while closed_at.elapsed() < PATIENCE && Wire::to(server.address).is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
            // A server that closes connections and runs on has refused nothing.
            if Wire::to(server.address).is_ok() {
                return Verdict::Lost(format!("it cuts connections:\n{}", server.log()));
            }
            let (status, log) = server.ended();
            if status.success() {
                return Verdict::Unexplained(log);
            }
            refusal(&log)
        }
    }
}

fn refusal(log: &str) -> Verdict {
    let said = log.lines().rfind(|line| line.starts_with("error: "));
    let explained = said.is_some_and(|line| {
        line.contains("hyper-delay verify")
            && line.contains("repair")
            && PLACES.iter().any(|place| line.contains(place))
    });
    if explained {
        Verdict::Refused
    } else {
        let lines: Vec<&str> = log.lines().collect();
        Verdict::Unexplained(lines[lines.len().saturating_sub(3)..].join("\n"))
    }
}

fn compare(found: &Found, expected: &Expected) -> Verdict {
    let known = found.delivered.keys().chain(found.dead.keys());
    let undone: Vec<&Name> = known
        .filter(|name| expected.finished.contains(*name))
        .collect();
    if let Some(first) = undone.first() {
        let state = if found.dead.contains_key(*first) {
            "dead"
        } else {
            "delivered"
        };
        let count = undone.len();
        return Verdict::Undone(format!("{count} tasks, first {first:?}, {state}"));
    }
    let named = |name: &Name| found.dead.get(name).is_some_and(|reason| *reason);
    let mut missing: BTreeSet<&Name> = BTreeSet::new();
    let mut is_whole = true;
    for name in expected.due.keys() {
        if found.delivered.get(name) != expected.received(name).as_ref() {
            is_whole = false;
            if !named(name) {
                missing.insert(name);
            }
        }
    }
    let unlisted = |name: &&Name| !found.dead.contains_key(*name);
    if found.is_damage_named {
        is_whole = false;
    } else {
        missing.extend(expected.dead.iter().filter(unlisted));
    }
    match missing.first() {
        Some(first) => Verdict::Lost(format!("{} tasks, first {first:?}", missing.len())),
        None if is_whole => Verdict::Whole,
        None => Verdict::Named,
    }
}

/// Lists dead letters, takes and acknowledges deliveries until there are no more.
pub(super) fn take_all(server: &Server, expected: &Expected) -> Result<Found, Disconnected> {
    let mut found = Found::default();
    let mut wire = Wire::to(server.address)?;
    list_dead(&mut wire, &mut found)?;
    for route in ROUTES {
        let request = json!({"kind": "register", "route_key": route, "credit": 65_535});
        wire.send(&line(&request))?;
    }
    let mut heard = Instant::now();
    let mut asked = None;
    loop {
        let mut stats = None;
        let mut acks = Vec::new();
        for message in wire.receive(Duration::from_millis(100))? {
            match text(&message, "kind") {
                "delivery" => {
                    heard = Instant::now();
                    acks.extend(take(&message, &mut found));
                }
                "stats" => stats = Some(message),
                _ => {}
            }
        }
        wire.send(&acks)?;
        let is_empty = stats.is_some_and(|stats: Value| {
            let left = ["waiting", "parked", "in_flight"].map(|state| stats[state].as_u64());
            asked = None;
            left == [Some(0); 3]
        });
        let all = expected.due.len() <= found.delivered.len();
        if is_empty || heard.elapsed() > SILENCE {
            // Dead letters of tasks that could not be read.
            list_dead(&mut wire, &mut found)?;
            let is_over = is_empty || heard.elapsed() > PATIENCE;
            if is_over || !compare(&found, expected).is_fault() {
                return Ok(found);
            }
        }
        if asked.is_none() && (all || heard.elapsed() > Duration::from_millis(300)) {
            wire.send(&line(&json!({"kind": "stats"})))?;
            asked = Some(());
        }
    }
}

fn list_dead(wire: &mut Wire, found: &mut Found) -> Result<(), Disconnected> {
    for route in ROUTES {
        let mut request = json!({"kind": "dead", "route_key": route, "limit": 1_000});
        loop {
            wire.send(&line(&request))?;
            let page = reply(wire, "dead", found)?;
            if text(&page, "kind") == "error" {
                found.is_damage_named = true;
                break;
            }
            let tasks = page["tasks"].as_array().unwrap();
            for task in tasks {
                let reason = task.get("reason").is_some_and(|reason| !reason.is_null());
                found
                    .dead
                    .insert((route.to_owned(), text(task, "id").to_owned()), reason);
            }
            let Some(last) = tasks.last().filter(|_| page["more"] == true) else {
                break;
            };
            request["after"] = last["id"].clone();
        }
    }
    Ok(())
}

/// The next reply of this kind, or an error that names damage. Deliveries before it count.
fn reply(wire: &mut Wire, kind: &str, found: &mut Found) -> Result<Value, Disconnected> {
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        let mut reply = None;
        for message in wire.receive(Duration::from_secs(1))? {
            match text(&message, "kind") {
                "delivery" => wire.send(&take(&message, found))?,
                found if found == kind => reply = Some(message),
                "error" if text(&message, "code") == "damaged" => {
                    assert!(text(&message, "message").contains("store/"), "{message}");
                    reply = Some(message);
                }
                _ => {}
            }
        }
        if let Some(reply) = reply {
            return Ok(reply);
        }
    }
    panic!("no {kind} within {PATIENCE:?}");
}

/// Notes a delivery and returns its ack. Without one, no task of this id comes before the ack
/// timeout, which can be a day.
fn take(delivery: &Value, found: &mut Found) -> Vec<u8> {
    let payload = text(delivery, "payload_base64").to_owned();
    let received = (payload, delivery.get("headers").cloned());
    found.delivered.insert(name(delivery), received);
    let [id, route] = ["id", "route_key"].map(|field| &delivery[field]);
    line(&json!({"kind": "ack", "id": id, "route_key": route}))
}

pub(super) fn name(message: &Value) -> Name {
    (
        text(message, "route_key").to_owned(),
        text(message, "id").to_owned(),
    )
}
