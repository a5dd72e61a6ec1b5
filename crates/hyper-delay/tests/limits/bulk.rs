use std::{
    io::Write,
    net::{Shutdown, TcpStream},
    sync::mpsc,
    thread,
};

use testkit::Peer;

use crate::server::Server;

/// The size of one write.
const CHUNK: usize = 64 << 10;

/// Schedules `count` tasks on one connection. Writes and reads concurrently.
pub(crate) fn schedule_all(
    mut peer: Peer,
    count: usize,
    line: impl Fn(usize) -> String + Send + 'static,
) {
    let writer = peer.stream().try_clone().expect("it is open");
    let sending = thread::spawn(move || write_all(&writer, (0..count).map(line)));
    for _ in 0..count {
        let reply = peer.line().expect("it is answered");
        assert!(reply.starts_with(r#"{"kind":"ack""#), "{reply}");
    }
    sending.join().expect("it does not panic");
}

fn write_all(mut stream: &TcpStream, lines: impl Iterator<Item = String>) {
    let mut bytes = String::new();
    for line in lines {
        bytes.push_str(&line);
        bytes.push('\n');
        if bytes.len() >= CHUNK {
            stream
                .write_all(bytes.as_bytes())
                .expect("the server takes it");
            bytes.clear();
        }
    }
    stream
        .write_all(bytes.as_bytes())
        .expect("the server takes it");
}

/// Takes `count` deliveries whose ids are numbers, and acknowledges each. Returns the ids in order
/// of delivery.
pub(crate) fn take_all(peer: &mut Peer, count: usize) -> Vec<usize> {
    let writer = peer.stream().try_clone().expect("it is open");
    let (acks, taken) = mpsc::channel::<usize>();
    // Another thread writes the acks: the server may stop reading while its deliveries are unread.
    let sending = thread::spawn(move || {
        while let Ok(first) = taken.recv() {
            let ids = std::iter::once(first).chain(taken.try_iter().take(1000));
            write_all(
                &writer,
                ids.map(|id| format!(r#"{{"kind":"ack","id":"{id}"}}"#)),
            );
        }
    });
    let mut ids = Vec::with_capacity(count);
    while ids.len() < count {
        let line = peer.line().expect("the connection stays open");
        // Parsing each line as JSON would dominate the test.
        let id = line
            .strip_prefix(r#"{"kind":"delivery","id":""#)
            .filter(|rest| rest.ends_with(r#""attempt":1}"#))
            .and_then(|rest| rest.split('"').next()?.parse().ok());
        let id = id.unwrap_or_else(|| panic!("no first delivery with a number: {line}"));
        acks.send(id).expect("acks are sent");
        ids.push(id);
    }
    drop(acks);
    sending.join().expect("it does not panic");
    ids
}

/// Asserts that no delivery is left, neither on the connection nor in the store.
pub(crate) fn all_done(mut peer: Peer, server: &Server, route: &str) {
    peer.quiet();
    let stats = peer.stats_until(route, |stats| stats["waiting"] == 0 && stats["parked"] == 0);
    assert_eq!(stats["in_flight"], 0);
    peer.stream().shutdown(Shutdown::Both).expect("it is open");
    assert_eq!(server.peer().all_stats()["unknown_acks"], 0);
}
