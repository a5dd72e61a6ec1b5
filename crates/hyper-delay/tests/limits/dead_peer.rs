#![cfg(target_os = "linux")]

use std::{fs, net::SocketAddr};

use serde_json::json;

use crate::server::Server;

/// The kernel's name for a timer of a socket that is idle.
const KEEPALIVE: &str = "02";

/// The kind and the remaining seconds of the timer that the kernel runs for the server's end of a
/// connection.
fn timer(server: SocketAddr, client: SocketAddr) -> Option<(String, u64)> {
    const TICKS_PER_SECOND: u64 = 100;
    let hex = |address: SocketAddr| format!(":{:04X}", address.port());
    let sockets = fs::read_to_string("/proc/net/tcp").expect("the kernel lists sockets");
    let socket = sockets
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields[1].ends_with(&hex(server)) && fields[2].ends_with(&hex(client)))?;
    let (kind, ticks) = socket[5].split_once(':')?;
    let ticks = u64::from_str_radix(ticks, 16).ok()?;
    Some((kind.to_owned(), ticks.div_ceil(TICKS_PER_SECOND)))
}

#[test]
fn an_idle_consumer_is_probed_after_keepalive_seconds() {
    let server = Server::start(json!({"keepalive_seconds": 1000}));
    let mut consumer = server.consumer("a");
    let client = consumer.stream().local_addr().expect("it is connected");
    // Until the kernel has seen the confirmation of the last reply, it runs another timer.
    let found = consumer.until(
        |_| json!(timer(server.address, client)),
        |found| found[0] == KEEPALIVE,
    );
    let seconds = found[1].as_u64().expect("it is a number");
    assert!((1..=1000).contains(&seconds), "{seconds}");
}
