//! Connections in network namespaces, where addresses drop, delay or refuse connections for real.
//!
//! Each test runs itself again in a namespace of its own. Without the rights for that, or without
//! the programs `ip` and `nft`, it is skipped; `RACE_REQUIRE_NAMESPACES=1` makes that a failure.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod beside;
mod detect;
mod name_server;
mod namespace;
mod nat64;
mod orders;
mod quic;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    time::{Duration, Instant},
};

use namespace::{HOST, V4, V6, within};
use race_connect::{ConnectError, ConnectFailure, HappyEyeballs};

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

const DELAY: Duration = Duration::from_millis(250);

/// Listens on an address of the host. The connections wait in the backlog.
fn listen(ip: &str, port: u16) -> (TcpListener, u16) {
    let listener = TcpListener::bind((ip, port)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Connects on tokio and on smol. Returns the addresses and the times.
fn connect(
    settings: &HappyEyeballs,
    port: u16,
) -> [Result<(SocketAddr, Duration), ConnectError>; 2] {
    let settings = settings.clone().deadline(PATIENCE);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let connector = race_connect::tokio::Connector::new(settings.clone());
    let on_tokio = runtime.block_on(connector.connect(HOST, port));
    let connector = race_connect::smol::Connector::new(settings);
    let on_smol = smol::block_on(connector.connect(HOST, port));
    [
        on_tokio.map(|it| (it.address, it.elapsed)),
        on_smol.map(|it| (it.address, it.elapsed)),
    ]
}

fn assert_connects(settings: &HappyEyeballs, port: u16, ip: &str, after: Duration) {
    for connected in connect(settings, port) {
        let (address, elapsed) = connected.unwrap();
        assert_eq!(address.ip().to_string(), ip);
        assert!(elapsed >= after, "after {elapsed:?}");
    }
}

#[test]
fn v6_comes_first_if_both_families_answer() {
    within("v6_comes_first_if_both_families_answer", "", || {
        let (_v6, port) = listen(V6, 0);
        let _v4 = listen(V4, port);
        assert_connects(&HappyEyeballs::new(), port, V6, Duration::ZERO);
    });
}

#[test]
fn v4_connects_after_the_delay_if_v6_is_dropped() {
    within(
        "v4_connects_after_the_delay_if_v6_is_dropped",
        "drop v6",
        || {
            let (_v4, port) = listen(V4, 0);
            assert_connects(&HappyEyeballs::new(), port, V4, DELAY);
        },
    );
}

#[test]
fn v4_connects_before_the_delay_if_v6_is_refused() {
    within("v4_connects_before_the_delay_if_v6_is_refused", "", || {
        let (_v4, port) = listen(V4, 0);
        let longest = *HappyEyeballs::ATTEMPT_DELAYS.end();
        let settings = HappyEyeballs::new().attempt_delay(longest);
        for connected in connect(&settings, port) {
            let (address, elapsed) = connected.unwrap();
            assert_eq!(address.ip().to_string(), V4);
            assert!(elapsed < longest, "it waited for the delay: {elapsed:?}");
        }
    });
}

#[test]
fn v4_connects_if_the_first_packet_of_v6_is_lost() {
    within(
        "v4_connects_if_the_first_packet_of_v6_is_lost",
        "lose v6",
        || {
            let (_v6, port) = listen(V6, 0);
            let _v4 = listen(V4, port);
            // The system repeats the packet after a second.
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let connected = runtime
                .block_on(race_connect::tokio::connect(HOST, port))
                .unwrap();
            assert_eq!(connected.address.ip().to_string(), V4);
        },
    );
}

#[test]
fn v6_connects_late_if_v4_is_refused() {
    within("v6_connects_late_if_v4_is_refused", "lose v6", || {
        let (_v6, port) = listen(V6, 0);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let connected = runtime
            .block_on(race_connect::tokio::connect(HOST, port))
            .unwrap();
        assert_eq!(connected.address.ip().to_string(), V6);
        assert!(
            connected.elapsed >= Duration::from_millis(900),
            "it was lost"
        );
    });
}

#[test]
fn deadline_ends_attempts_that_are_dropped() {
    within(
        "deadline_ends_attempts_that_are_dropped",
        "drop v6; drop v4",
        || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let settings = HappyEyeballs::new().deadline(Duration::from_millis(600));
            let connector = race_connect::tokio::Connector::new(settings);
            let began = Instant::now();
            let error = runtime.block_on(connector.connect(HOST, 9)).unwrap_err();
            let deadline = Duration::from_millis(600);
            assert_eq!(error.reason(), ConnectFailure::Deadline(deadline));
            assert!(began.elapsed() < PATIENCE);
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
        },
    );
}

#[test]
fn both_refused_is_an_error_that_lists_both() {
    within("both_refused_is_an_error_that_lists_both", "", || {
        for connected in connect(&HappyEyeballs::new(), 9) {
            let error = connected.unwrap_err();
            let failed = error.failed().iter();
            let failed: Vec<_> = failed
                .map(|(peer, _)| peer.address.ip().to_string())
                .collect();
            assert_eq!(failed, [V6, V4]);
        }
    });
}

#[test]
fn remembered_family_saves_the_delay() {
    within("remembered_family_saves_the_delay", "drop v6", || {
        let (_v4, port) = listen(V4, 0);
        let memory = std::sync::Arc::new(race_connect::FamilyMemory::new());
        let longest = *HappyEyeballs::ATTEMPT_DELAYS.end();
        let settings = HappyEyeballs::new().memory(memory).attempt_delay(longest);
        let connector = race_connect::tokio::Connector::new(settings);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let elapsed = || {
            runtime
                .block_on(connector.connect(HOST, port))
                .unwrap()
                .elapsed
        };
        assert!(elapsed() >= longest);
        assert!(elapsed() < longest);
    });
}

#[test]
fn hyper_client_connects_if_v6_is_dropped() {
    use http_body_util::{BodyExt as _, Empty};
    use hyper_util::{client::legacy::Client, rt::TokioExecutor};
    use std::io::{Read as _, Write as _};

    within("hyper_client_connects_if_v6_is_dropped", "drop v6", || {
        let (v4, port) = listen(V4, 0);
        let server = std::thread::spawn(move || {
            let (mut stream, _) = v4.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            assert!(request[..length].starts_with(b"GET / HTTP/1.1\r\n"));
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
                .unwrap();
        });
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let connector = race_connect::tokio::Connector::default();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let body: Empty<&'static [u8]> = Empty::new();
        let request = http::Request::get(format!("http://{HOST}:{port}/"))
            .body(body)
            .unwrap();
        let body = runtime.block_on(async {
            let answer = client.request(request).await.unwrap();
            answer.into_body().collect().await.unwrap().to_bytes()
        });
        assert_eq!(body, "hello");
        server.join().unwrap();
    });
}
