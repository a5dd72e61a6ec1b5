//! How long a connection lives, on a clock that moves when everything waits.

use axum::routing::get;
use tokio::{
    io::{AsyncReadExt as _, DuplexStream, duplex},
    sync::Notify,
    task::JoinHandle,
    time::Instant,
};

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Serves one connection. The sender closes the listener.
fn open(router: Router) -> (DuplexStream, JoinHandle<()>, watch::Sender<bool>) {
    let (client, server) = duplex(64 << 10);
    let (close, closed) = watch::channel(false);
    (client, tokio::spawn(serve(server, router, closed)), close)
}

/// Sends a request and reads the answer. Returns none of it if the connection is closed.
async fn ask(client: &mut DuplexStream) -> String {
    let mut answer = vec![0; 4_096];
    let length = match client.write_all(REQUEST).await {
        Ok(()) => client.read(&mut answer).await.unwrap(),
        Err(_) => 0,
    };
    answer.truncate(length);
    String::from_utf8(answer).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_busy_connection_is_closed_after_its_lifetime() {
    let (mut client, backend, _close) = open(Router::new().route("/", get(|| async { "here" })));
    let start = Instant::now();
    let mut answers = 0;
    loop {
        let answer = ask(&mut client).await;
        if answer.is_empty() {
            break;
        }
        assert!(answer.ends_with("here"), "{answer}");
        answers += 1;
        assert!(start.elapsed() < 2 * LIFETIME, "it stays open");
        sleep(Duration::from_secs(1)).await;
    }
    let lived = start.elapsed();
    assert!(
        (LIFETIME..LIFETIME + Duration::from_secs(2)).contains(&lived),
        "{lived:?}"
    );
    assert!(answers >= 59, "{answers}");
    drop(client);
    backend.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_at_the_end_of_the_lifetime_is_answered() {
    let (begun, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let both = (begun.clone(), answer.clone());
    let slow = get(move || {
        let (begun, answer) = both.clone();
        async move {
            begun.notify_one();
            answer.notified().await;
            "slow"
        }
    });
    let (mut client, backend, _close) = open(Router::new().route("/", slow));
    client.write_all(REQUEST).await.unwrap();
    begun.notified().await;
    sleep(LIFETIME + REQUEST_GRACE / 2).await;
    answer.notify_one();
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("connection: close\r\n"), "{text}");
    assert!(text.ends_with("slow"), "{text}");
    drop(client);
    backend.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_then_is_broken_off() {
    let never = get(|| async { pending::<&'static str>().await });
    let (mut client, _serving, _close) = open(Router::new().route("/", never));
    let start = Instant::now();
    assert_eq!(ask(&mut client).await, "");
    let lived = start.elapsed();
    let end = LIFETIME + REQUEST_GRACE;
    assert!(
        (end..end + Duration::from_secs(2)).contains(&lived),
        "{lived:?}"
    );
}
