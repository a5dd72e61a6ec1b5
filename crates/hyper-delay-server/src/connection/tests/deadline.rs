//! How long a connection may stay unknown, on a clock that only the test moves.

use std::path::Path;

use tokio::time::{Instant, advance, pause};

use super::*;

const HELLO: &[u8] = b"{\"kind\":\"hello\",\"protocol\":2}\n";

#[tokio::test]
async fn requests_before_authentication_do_not_extend_its_time() {
    // While a blocking task runs, the clock does not move by itself.
    let (release, released) = mpsc::channel::<()>();
    let holding = tokio::task::spawn_blocking(move || released.recv());
    let before = Instant::now();
    let tokens = Tokens::from_json(Path::new("tokens.json"), r#"{"tokens":[]}"#).unwrap();
    let mut world = connect_with(store(5), Some(tokens), Freshness::default()).await;
    pause();
    // Its time began between these two moments.
    let after = Instant::now();
    let mut client = BufReader::new(&mut world.client);
    let mut line = String::new();
    while before.elapsed() < Duration::from_secs(9) {
        client.write_all(HELLO).await.unwrap();
        line.clear();
        client.read_line(&mut line).await.unwrap();
        assert!(line.starts_with(r#"{"kind":"hello""#), "{line}");
        advance(Duration::from_secs(1)).await;
    }
    // The runtime's timers count whole milliseconds: those of its start and its end can be missing.
    advance(Duration::from_millis(10_002).saturating_sub(after.elapsed())).await;
    client.write_all(HELLO).await.unwrap();
    line.clear();
    client.read_line(&mut line).await.unwrap();
    assert!(line.contains("within 10 seconds"), "{line}");
    drop(release);
    let _ = holding.await;
}
