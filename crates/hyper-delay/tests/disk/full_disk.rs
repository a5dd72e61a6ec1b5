//! Clients of a server whose disk may be full.

use std::{
    collections::BTreeSet,
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    PATIENCE, Peer, Server, Start, Wire,
    request::now,
    small::Small,
    wire::{line, text},
};

use crate::deliver_all;

pub(crate) type Ids = BTreeSet<String>;

/// A server with its data on a small disk. No delivery is repeated within a test.
pub(crate) fn start(small: &Small, config: Value) -> Start<'_> {
    crate::start(small.path())
        .config(json!({"ack_timeout_ms": 600_000}))
        .config(config)
}

/// A producer.
pub(crate) struct Client<'a> {
    server: &'a Server,
    wire: Wire,
}

impl<'a> Client<'a> {
    pub(crate) fn of(server: &'a Server) -> Self {
        Self {
            server,
            wire: Wire::to(server.address).unwrap(),
        }
    }

    /// Schedules tasks that are numbered. The ids that were acknowledged, and whether one was
    /// refused.
    pub(crate) fn schedule(
        &mut self,
        prefix: &str,
        numbers: Range<usize>,
        fire_at: u64,
        size: usize,
    ) -> (Ids, bool) {
        let ids = numbers.clone().map(|number| format!("{prefix}-{number}"));
        self.schedule_ids(ids, fire_at, size)
    }

    fn schedule_ids(
        &mut self,
        ids: impl ExactSizeIterator<Item = String>,
        fire_at: u64,
        size: usize,
    ) -> (Ids, bool) {
        let count = ids.len();
        let lines: Vec<u8> = ids
            .flat_map(|id| crate::schedule(&id, fire_at, size))
            .collect();
        self.wire.send(&lines).unwrap();
        let mut ids = Ids::new();
        let mut refused = 0;
        let begun = Instant::now();
        while ids.len() + refused < count {
            assert!(
                begun.elapsed() < PATIENCE,
                "no reply: {}",
                self.server.log()
            );
            for reply in receive(self.server, &mut self.wire) {
                if text(&reply, "kind") == "ack" {
                    ids.insert(text(&reply, "id").to_owned());
                } else {
                    assert_eq!(text(&reply, "code"), "disk_full", "{reply}");
                    assert_eq!(text(&reply, "route_key"), "r", "{reply}");
                    refused += 1;
                }
            }
        }
        (ids, refused > 0)
    }

    /// Schedules tasks, `group` at a time, until one is refused; those that were acknowledged.
    pub(crate) fn schedule_until_full(
        &mut self,
        prefix: &str,
        fire_at: u64,
        size: usize,
        group: usize,
    ) -> Ids {
        let mut acknowledged = Ids::new();
        for first in (0..1_000_000).step_by(group) {
            let (ids, is_full) = self.schedule(prefix, first..first + group, fire_at, size);
            acknowledged.extend(ids);
            if is_full {
                return acknowledged;
            }
        }
        panic!("the disk is never full");
    }

    /// Whether the server takes this task.
    pub(crate) fn takes(&mut self, id: &str, fire_at: u64, size: usize) -> bool {
        let ids = [id.to_owned()].into_iter();
        !self.schedule_ids(ids, fire_at, size).1
    }

    /// Schedules until a task is taken again; its id.
    pub(crate) fn takes_again(&mut self) -> String {
        let begun = Instant::now();
        loop {
            let id = format!("again-{}", now());
            if self.takes(&id, now(), 300) {
                return id;
            }
            let log = self.server.log();
            assert!(begun.elapsed() < PATIENCE, "no schedule is taken: {log}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn receive(server: &Server, wire: &mut Wire) -> Vec<Value> {
    wire.receive(PATIENCE).unwrap_or_else(|_| {
        // The last lines of its log come after the end of its connections.
        thread::sleep(Duration::from_millis(500));
        panic!("the connection is closed: {}", server.log())
    })
}

/// Acknowledges `count` deliveries, and returns the ids whose acks were confirmed.
pub(crate) fn finish(server: &Server, count: usize) -> Ids {
    let mut wire = Wire::to(server.address).unwrap();
    let register = json!({"kind": "register", "route_key": "r", "credit": 100});
    wire.send(&line(&register)).unwrap();
    let mut acks = 0;
    let mut finished = Ids::new();
    let begun = Instant::now();
    while finished.len() < count {
        let seen = finished.len();
        assert!(
            begun.elapsed() < PATIENCE,
            "{seen} of {count}: {}",
            server.log()
        );
        for message in receive(server, &mut wire) {
            match text(&message, "kind") {
                "delivery" if acks < count => {
                    acks += 1;
                    let ack = json!({"kind": "ack", "id": message["id"], "route_key": "r",
                        "confirm": true});
                    wire.send(&line(&ack)).unwrap();
                }
                "delivery" => {}
                "acked" => {
                    assert_eq!(message["removed"], true, "{message}");
                    assert!(finished.insert(text(&message, "id").to_owned()));
                }
                _ => assert_eq!(text(&message, "kind"), "registered", "{message}"),
            }
        }
    }
    finished
}

/// The number of tasks in the store.
pub(crate) fn stored(peer: &mut Peer) -> u64 {
    let stats = peer.all_stats();
    let counts = ["waiting", "parked", "dead"].map(|state| stats[state].as_u64());
    counts.into_iter().map(Option::unwrap).sum()
}

/// Kills the server and starts it again: it has and delivers what was not finished, and nothing
/// else.
pub(crate) fn nothing_is_lost_or_doubled(server: Server, start: &Start<'_>, unfinished: &Ids) {
    server.kill();
    let server = start.run();
    assert_eq!(stored(&mut server.peer()), unfinished.len() as u64);
    deliver_all(&server, unfinished);
}
