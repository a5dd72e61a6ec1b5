//! Producers and consumers that note what the server has acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};
use testkit::{
    Wire,
    request::later,
    wire::{line, text},
};

/// Producers of tasks that wait, and of tasks that are due.
const PRODUCERS: usize = 3;

/// Schedules without a reply.
const GROUP: usize = 40;

/// The fields of a schedule that a task must keep.
pub(crate) type Content = (u64, String);

/// What was sent and what was acknowledged.
#[derive(Debug, Default, Clone)]
pub(crate) struct Notes {
    pub(crate) sent: BTreeMap<String, Content>,
    pub(crate) scheduled: BTreeSet<String>,
    /// An ack or a nack was sent: the task may be gone or dead.
    pub(crate) answered: BTreeSet<String>,
    /// The removal was confirmed.
    pub(crate) removed: BTreeSet<String>,
}

/// Threads that load a server until they are stopped or the server ends.
pub(crate) struct Load {
    pub(crate) notes: Arc<Mutex<Notes>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let notes = Arc::<Mutex<Notes>>::default();
        let is_over = Arc::<AtomicBool>::default();
        let mut threads = Vec::new();
        for name in 0..PRODUCERS {
            let (notes, is_over) = (notes.clone(), is_over.clone());
            threads.push(thread::spawn(move || {
                produce(address, name, &notes, &is_over);
            }));
        }
        for _ in 0..2 {
            let (notes, is_over) = (notes.clone(), is_over.clone());
            threads.push(thread::spawn(move || consume(address, &notes, &is_over)));
        }
        Self {
            notes,
            is_over,
            threads,
        }
    }

    pub(crate) fn noted(&self) -> Notes {
        self.notes.lock().unwrap().clone()
    }

    pub(crate) fn end(self) -> Notes {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let notes = self.notes.lock().unwrap();
        notes.clone()
    }
}

fn produce(address: SocketAddr, name: usize, notes: &Mutex<Notes>, is_over: &AtomicBool) {
    let mut wire = Wire::to(address).unwrap();
    for group in 0.. {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let mut lines = Vec::new();
        for number in 0..GROUP {
            let id = format!("{name}-{group}-{number}");
            // Half of them wait, a quarter has no consumer, a quarter is delivered.
            let (route, fire_at) = match number % 4 {
                0 => ("delivered", 1),
                1 => ("parked", 1),
                _ => ("waiting", later()),
            };
            let payload = "eHh4".repeat(10 + group % 200);
            lines.extend(line(
                &json!({"kind": "schedule", "id": id, "route_key": route,
                "fire_at": fire_at, "payload_base64": payload}),
            ));
            let sent = &mut notes.lock().unwrap().sent;
            sent.insert(id, (fire_at, payload));
        }
        let mut acked = 0;
        let mut is_sent = wire.send(&lines).is_ok();
        while is_sent && acked < GROUP {
            match wire.receive(Duration::from_millis(100)) {
                Ok(replies) => {
                    let scheduled = &mut notes.lock().unwrap().scheduled;
                    for reply in replies {
                        assert_eq!(reply["kind"], "ack", "{reply}");
                        scheduled.insert(text(&reply, "id").to_owned());
                        acked += 1;
                    }
                }
                Err(_) => is_sent = false,
            }
        }
        if !is_sent {
            return;
        }
    }
}

/// Acknowledges most deliveries, gives some back, which makes them dead, and keeps some.
fn consume(address: SocketAddr, notes: &Mutex<Notes>, is_over: &AtomicBool) {
    let mut wire = Wire::to(address).unwrap();
    let register = json!({"kind": "register", "route_key": "delivered", "credit": 500});
    wire.send(&line(&register)).unwrap();
    let mut kept = 0;
    while !is_over.load(Ordering::SeqCst) {
        let Ok(messages) = wire.receive(Duration::from_millis(20)) else {
            return;
        };
        for message in messages {
            let id = message["id"].as_str().unwrap_or_default().to_owned();
            match text(&message, "kind") {
                "delivery" if kept < 20 => kept += 1,
                "delivery" => {
                    notes.lock().unwrap().answered.insert(id.clone());
                    let kind = if id.ends_with('8') { "nack" } else { "ack" };
                    let answer: Value = json!({"kind": kind, "id": id, "route_key": "delivered",
                        "attempt": message["attempt"], "confirm": true});
                    if wire.send(&line(&answer)).is_err() {
                        return;
                    }
                }
                "acked" if message["removed"] == true => {
                    notes.lock().unwrap().removed.insert(id);
                }
                _ => {}
            }
        }
    }
}
