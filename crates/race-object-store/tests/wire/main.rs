//! The loser of a hedged read on real HTTP/1.1 connections: its connection ends while its answer is
//! incomplete, and none of its bytes reach the caller.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod server;
#[path = "../../../../examples/object_store/transport.rs"]
mod transport;

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use object_store::{
    ObjectStore as _, ObjectStoreExt as _,
    http::{HttpBuilder, HttpStore},
    path::Path,
};
use race_object_store::{Delays, ReadClass, tokio::HedgedStore};
use tokio::time::timeout;

use crate::{
    server::{LENGTH, Server, WINNER, answer_of_the_loser},
    transport::Hyper,
};

/// Ends a test whose event never comes. No test waits this long otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

const DELAY: Duration = Duration::from_millis(20);

async fn soon<F: Future>(event: F) -> F::Output {
    timeout(PATIENCE, event).await.expect("the read ends")
}

async fn sees_loser_closed(server: &mut Server) {
    let closed = timeout(PATIENCE, server.loser_closed()).await;
    closed.expect("the client closes the connection of the loser");
}

fn http(server: &Server) -> HttpStore {
    let http = HttpBuilder::new()
        .with_url(server.url())
        .with_http_connector(Hyper)
        .build();
    http.unwrap()
}

fn hedged(server: &Server) -> HedgedStore<HttpStore, Duration> {
    HedgedStore::new(http(server), DELAY)
}

/// Hedges the body of one read, and not its first byte, however slow the machine is.
#[derive(Default)]
struct BodyOnly {
    has_begun: AtomicBool,
}

impl<T> Delays<T> for BodyOnly {
    type Delay = Duration;

    fn delay(&self, _: ReadClass) -> Duration {
        match self.has_begun.swap(true, Ordering::SeqCst) {
            true => DELAY,
            false => Duration::MAX,
        }
    }
}

fn object() -> Path {
    "object".into()
}

const WHOLE: Range<usize> = 0..LENGTH;

#[tokio::test]
async fn connection_of_a_losing_get_is_closed_when_the_winner_begins() {
    let answer = answer_of_the_loser(WHOLE);
    let headers = answer.find("\r\n\r\n").unwrap() + 4;
    for sent in [0, headers / 2, headers] {
        let (begin, rest) = answer.split_at(sent);
        let mut server = Server::start(begin, rest).await;
        let store = hedged(&server);
        let result = soon(store.get(&object())).await.unwrap();
        // The winner has sent a half of its body. The loser sends the rest of its answer now.
        sees_loser_closed(&mut server).await;
        server.resume();
        assert_eq!(soon(result.bytes()).await.unwrap(), WINNER);
        assert_eq!(server.requests(), 2, "{sent} bytes of the loser were sent");
    }
}

#[tokio::test]
async fn connection_of_losing_get_ranges_is_closed_in_the_middle_of_a_body() {
    let range = 4..20;
    let answer = answer_of_the_loser(range.clone());
    let (begin, rest) = answer.split_at(answer.len() - range.len() / 2);
    let mut server = Server::start(begin, rest).await;
    server.resume();
    let range_of_u64 = range.start as u64..range.end as u64;
    let store = hedged(&server);
    let read = soon(store.get_ranges(&object(), &[range_of_u64])).await;
    sees_loser_closed(&mut server).await;
    assert_eq!(read.unwrap(), [&WINNER[range]]);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn connection_of_a_losing_head_is_closed() {
    let answer = answer_of_the_loser(WHOLE);
    let (begin, rest) = answer.split_at(10);
    let mut server = Server::start(begin, rest).await;
    let store = hedged(&server);
    let meta = soon(store.head(&object())).await.unwrap();
    sees_loser_closed(&mut server).await;
    assert_eq!(meta.size, LENGTH as u64);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn body_that_stalls_is_continued_and_its_connection_closed() {
    let mut server = Server::stalling_after(10).await;
    server.resume();
    let store = HedgedStore::new(http(&server), BodyOnly::default());
    let result = soon(store.get(&object())).await.unwrap();
    assert_eq!(soon(result.bytes()).await.unwrap(), WINNER);
    sees_loser_closed(&mut server).await;
    assert_eq!(server.requests(), 2);
    let request = server.latest();
    for header in ["range: bytes=10-31\r\n", "if-match: \"one\"\r\n"] {
        assert!(request.contains(header), "{request}");
    }
}
