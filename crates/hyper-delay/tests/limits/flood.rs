use std::{
    collections::BTreeSet,
    io::{ErrorKind, Write},
    thread,
    time::Duration,
};

use serde_json::json;

use crate::server::Server;

/// Far more bytes than socket buffers hold.
const TOO_MUCH: usize = 512 << 20;

#[test]
fn the_server_stops_reading_a_connection_with_unread_replies_and_loses_none() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let mut writer = peer.stream().try_clone().expect("it is open");
    writer
        .set_write_timeout(Some(Duration::from_secs(3)))
        .expect("it is a socket");
    // A request is nearly as long as its reply.
    let line = |number: usize| {
        let tag = "\\u0001".repeat(120);
        format!("{{\"kind\":\"ping\",\"tag\":\"{number:08}{tag}\"}}\n")
    };
    let mut sent = 0;
    let rest = loop {
        let bytes = line(sent).into_bytes();
        sent += 1;
        assert!(
            sent * bytes.len() < TOO_MUCH,
            "the server never stops reading"
        );
        if let Some(written) = write(&mut writer, &bytes) {
            break bytes[written..].to_vec();
        }
    };
    // Other connections are served meanwhile.
    server.peer().quiet();
    writer.set_write_timeout(None).expect("it is a socket");
    let sending = thread::spawn(move || writer.write_all(&rest));
    let numbers: BTreeSet<usize> = (0..sent)
        .map(|_| {
            let pong = peer.kind("pong");
            let tag = pong["tag"].as_str().expect("it is a text");
            tag[..8].parse().expect("it is a number")
        })
        .collect();
    assert!(numbers.into_iter().eq(0..sent));
    sending
        .join()
        .expect("it does not panic")
        .expect("the server reads the rest");
    peer.quiet();
}

/// Writes until the socket accepts no more. Returns the number of bytes written, or `None` if all
/// were.
fn write(writer: &mut impl Write, bytes: &[u8]) -> Option<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match writer.write(&bytes[written..]) {
            Ok(more) => written += more,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Some(written);
            }
            Err(error) => panic!("{error}"),
        }
    }
    None
}
