//! One flipped bit in each kind of file while the server runs under load. Tables are rewritten, and
//! the server starts again.

use std::{
    collections::BTreeSet,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Instant,
};

use serde_json::{Value, json};
use testkit::{
    Wire,
    request::now,
    wire::{Disconnected, line, text},
};
use tokio::sync::oneshot;

use super::*;
use hyper_delay_store::{Space, StoreError};

/// What one flipped bit may lead to. A content may also become a dead letter with a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// Nothing: everything is there at the next start, or only contents are unreadable.
    GoesOn,
    /// That, or the server ends or refuses to start, and names the file and the cure.
    IsNamed,
}

/// The kinds of files of a data directory, by the path below it, and what is allowed for each.
const KINDS: [(&str, Allowed); 16] = [
    ("reserve", Allowed::GoesOn),
    ("lock", Allowed::GoesOn),
    ("store/lock", Allowed::GoesOn),
    ("commits", Allowed::IsNamed),
    ("store/0.jnl", Allowed::IsNamed),
    ("store/version", Allowed::IsNamed),
    ("store/keyspaces/0", Allowed::IsNamed),
    ("store/keyspaces/2/current", Allowed::IsNamed),
    ("store/keyspaces/2/v", Allowed::IsNamed),
    ("tasks", Allowed::IsNamed),
    ("names", Allowed::IsNamed),
    ("waiting", Allowed::IsNamed),
    ("parked", Allowed::IsNamed),
    ("dead", Allowed::IsNamed),
    ("counts", Allowed::IsNamed),
    ("meta", Allowed::IsNamed),
];

/// A server in this process, over a store that the test can flush.
struct Running {
    address: SocketAddr,
    store: Arc<Embedded>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    fn start(directory: &Path) -> Result<Self, StoreError> {
        let store = Arc::new(Embedded::open(directory)?);
        let (stop, stopped) = oneshot::channel();
        let (sender, address) = mpsc::channel();
        let served = store.clone();
        let thread = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                let config = Config {
                    max_attempts: Some(1),
                    sync: Sync::Never,
                    ..Config::default()
                };
                let (_fixed, configs) = watch::channel(config);
                let stopped = async {
                    let _ = stopped.await;
                };
                serve_store(listener, configs, served, stopped).await
            })
        });
        Ok(Self {
            address: address.recv().unwrap(),
            store,
            stop,
            thread,
        })
    }

    fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    fn end(self) -> Result<(), ServeError> {
        let _ = self.stop.send(());
        self.thread.join().expect("the server does not panic")
    }
}

/// What the clients know.
#[derive(Debug, Default)]
struct Book {
    /// Tasks that are to be delivered, or dead with a reason.
    owed: BTreeSet<String>,
    rounds: usize,
}

impl Book {
    /// Schedules tasks of which some wait, are parked, are done and are dead.
    fn load(&mut self, address: SocketAddr) -> Result<(), Disconnected> {
        const EACH: usize = 5;
        self.rounds += 1;
        let round = self.rounds;
        let mut producer = Wire::to(address)?;
        let mut consumer = Wire::to(address)?;
        consumer.send(&line(&json!({"kind": "register", "route_key": "done"})))?;
        let mut asked = Vec::new();
        for number in 0..EACH {
            for (route, fire_at) in [("waits", now() + 3_600_000), ("parked", 1), ("done", 1)] {
                let id = format!("{route}-{round}-{number}");
                asked.extend(line(&json!({
                    "kind": "schedule", "id": id, "route_key": route, "fire_at": fire_at,
                    "payload_base64": "AAAA".repeat(500),
                })));
            }
        }
        producer.send(&asked)?;
        let mut taken = 0;
        until(&mut producer, |reply| {
            taken += 1;
            assert_eq!(reply["kind"], "ack", "{reply}");
            let id = text(&reply, "id").to_owned();
            if !id.starts_with("done") {
                self.owed.insert(id);
            }
            taken == 3 * EACH
        })?;
        let mut delivered = 0;
        let mut answers = Vec::new();
        until(&mut consumer, |reply| {
            if reply["kind"] == "delivery" {
                let kind = if delivered % 2 == 0 { "ack" } else { "nack" };
                delivered += 1;
                answers.extend(line(&json!({"kind": kind, "id": reply["id"]})));
            }
            delivered == EACH
        })?;
        consumer.send(&answers)?;
        // The server may see the end of this connection later than the tasks of the next round.
        consumer.send(&line(&json!({"kind": "unregister", "route_key": "done"})))?;
        until(&mut consumer, |reply| reply["kind"] == "unregistered")
    }

    /// Takes every task, and returns those that were not found and are owed.
    fn missing(mut self, address: SocketAddr) -> Result<BTreeSet<String>, Disconnected> {
        let mut wire = Wire::to(address)?;
        let ask = |kind: &str, route: &str| {
            line(&json!({"kind": kind, "route_key": route, "limit": 1_000}))
        };
        wire.send(&ask("register", "parked"))?;
        wire.send(&ask("kick_all", "parked"))?;
        let begun = Instant::now();
        // What is parked is delivered, or dead because its content cannot be read.
        while self.owed.iter().any(|id| id.starts_with("parked")) {
            assert!(begun.elapsed() < PATIENCE, "{:?}", self.owed);
            wire.send(&ask("dead", "parked"))?;
            let owed = &mut self.owed;
            let mut answers = Vec::new();
            until(&mut wire, |reply| {
                if reply["kind"] == "delivery" {
                    owed.remove(text(&reply, "id"));
                    answers.extend(line(&json!({"kind": "ack", "id": reply["id"]})));
                }
                remove_all(owed, &reply);
                reply["kind"] == "dead" || reply["kind"] == "error"
            })?;
            // There can be more tasks than the credit of a connection.
            wire.send(&answers)?;
        }
        let mut after = None::<String>;
        loop {
            let list = json!({
                "kind": "list", "route_key": "waits", "after": after, "limit": 1_000,
                "state": "waiting",
            });
            wire.send(&line(&list))?;
            let owed = &mut self.owed;
            let mut next = None;
            until(&mut wire, |reply| {
                remove_all(owed, &reply);
                next = reply["next"].as_str().map(str::to_owned);
                reply["kind"] == "list" || reply["kind"] == "error"
            })?;
            after = next;
            if after.is_none() {
                return Ok(self.owed);
            }
        }
    }
}

fn remove_all(owed: &mut BTreeSet<String>, reply: &Value) {
    for task in reply["tasks"].as_array().into_iter().flatten() {
        owed.remove(text(task, "id"));
    }
}

/// Reads lines until one is the last that is waited for.
fn until(wire: &mut Wire, mut is_last: impl FnMut(Value) -> bool) -> Result<(), Disconnected> {
    let begun = Instant::now();
    loop {
        for reply in wire.receive(Duration::from_millis(50))? {
            if is_last(reply) {
                return Ok(());
            }
        }
        assert!(begun.elapsed() < PATIENCE, "no reply");
    }
}

/// Flips a bit of what is written of a file of this kind: in a table, among its rows. Returns the file.
fn flip(directory: &Path, store: &Embedded, kind: &str) -> PathBuf {
    let space = Space::ALL.into_iter().find(|space| space.name() == kind);
    let mut files = Vec::new();
    walk(directory, &mut |file| {
        let below = file.strip_prefix(directory).unwrap();
        let is_it = match space {
            Some(space) => file.starts_with(store.folder_of(space).join("tables")),
            None => below.to_str().unwrap().starts_with(kind),
        };
        if is_it {
            files.push(file.to_owned());
        }
    });
    files.sort();
    let file = files.into_iter().next();
    let file = file.unwrap_or_else(|| panic!("there is no file {kind}"));
    let bytes = fs::read(&file).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0);
    if let Some(written) = written {
        let place = written / 8;
        let mut writer = fs::OpenOptions::new().write(true).open(&file).unwrap();
        std::io::Seek::seek(&mut writer, std::io::SeekFrom::Start(place as u64)).unwrap();
        std::io::Write::write_all(&mut writer, &[bytes[place] ^ 1]).unwrap();
    }
    file
}

fn walk(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => walk(&path, visit),
            false => visit(&path),
        }
    }
}

/// Asserts that an error names what is damaged and the cure, and blames no disk.
fn is_named(kind: &str, error: &str, directory: &Path) {
    let cures = ["hyper-delay repair", "--accept-loss"];
    assert!(
        cures.iter().any(|cure| error.contains(cure)),
        "{kind}: {error}"
    );
    assert!(!error.contains("look at the disk"), "{kind}: {error}");
    let is_space = Space::ALL.into_iter().any(|space| space.name() == kind);
    let names_file = error.contains(directory.to_str().unwrap());
    let names_space = error.contains(&format!("space {kind}"));
    // A journal is not named by its file, but by what is missing without it.
    let names_loss = kind == "store/0.jnl" && error.contains("lost");
    assert!(
        names_loss || names_file && (names_space || !is_space),
        "{kind}: {error}"
    );
}

/// Damages a file of this kind. Returns what has happened.
fn damage(kind: &str, allowed: Allowed) -> &'static str {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut book = Book::default();
    let server = Running::start(directory).unwrap();
    for _ in 0..3 {
        book.load(server.address).unwrap();
        server.store.flush_all();
    }
    let file = flip(directory, &server.store, kind);
    // More tables than are left alone: they are rewritten, but for the contents of tasks.
    let is_rewritten =
        !kind.contains('/') && !["tasks", "reserve", "lock", "commits"].contains(&kind);
    let begun = Instant::now();
    for round in 0.. {
        if server.has_ended() || book.load(server.address).is_err() {
            break;
        }
        let _ = server.store.seal_all();
        if !file.exists() || !is_rewritten && round == 5 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{kind}: nothing reads it");
    }
    let mut what = "goes on";
    if let Err(error) = server.end() {
        is_named(kind, &error.to_string(), directory);
        assert_eq!(allowed, Allowed::IsNamed, "{kind}: {error}");
        what = "ends";
    }
    match Running::start(directory) {
        Err(error) => {
            is_named(kind, &error.to_string(), directory);
            assert_eq!(allowed, Allowed::IsNamed, "{kind}: {error}");
            let again = Embedded::open(directory).unwrap_err();
            is_named(kind, &again.to_string(), directory);
            what = "refuses";
        }
        Ok(server) => {
            let missing = book.missing(server.address);
            let ended = server.end();
            match missing {
                Ok(missing) => {
                    assert!(missing.is_empty() || ended.is_err(), "{kind}: {missing:?}");
                }
                Err(Disconnected) => assert!(ended.is_err(), "{kind}"),
            }
            if let Err(error) = ended {
                println!("{kind}: {error}");
                is_named(kind, &error.to_string(), directory);
                let again = Embedded::open(directory).unwrap_err();
                is_named(kind, &again.to_string(), directory);
                what = "ends after a start, and refuses the next one";
            }
        }
    }
    what
}

/// Every second kind, from one of them on.
fn damage_each(from: usize) {
    for (kind, allowed) in KINDS.into_iter().skip(from).step_by(2) {
        println!("{kind}: {}", damage(kind, allowed));
    }
}

#[test]
fn one_bit_in_a_file_of_a_running_server_is_no_loss_without_a_word_1() {
    damage_each(0);
}

#[test]
fn one_bit_in_a_file_of_a_running_server_is_no_loss_without_a_word_2() {
    damage_each(1);
}

/// Each kind of file is in the table.
#[test]
fn the_table_has_each_kind_of_file() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut book = Book::default();
    let server = Running::start(directory).unwrap();
    book.load(server.address).unwrap();
    server.store.flush_all();
    let mut files = Vec::new();
    walk(directory, &mut |file| {
        let below = file.strip_prefix(directory).unwrap().to_str().unwrap();
        let is_listed = |kind: &str| below.starts_with(kind);
        let is_of_space = below.contains("/keyspaces/");
        if !is_of_space && !KINDS.into_iter().any(|(kind, _)| is_listed(kind)) {
            files.push(below.to_owned());
        }
    });
    assert!(files.is_empty(), "{files:?}");
    let spaces = Space::ALL.into_iter().map(Space::name);
    let listed = |space: &&str| KINDS.into_iter().any(|(kind, _)| kind == *space);
    // Those of finished names have the same files as others.
    let others: Vec<&str> = spaces.filter(|space| !listed(space)).collect();
    assert_eq!(others, ["done-even", "done-odd"]);
    server.end().unwrap();
}
