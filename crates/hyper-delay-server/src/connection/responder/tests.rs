use std::sync::mpsc::{self, Receiver};

use tokio::sync::{Semaphore, watch};

use super::*;
use crate::connection::{
    UnfinishedLines,
    dead_letters::{DeadLetterRequest, list_dead_letters},
    stats::stats,
};
use hyper_delay_config::Config;
use hyper_delay_engine::clock::Clock;
use hyper_delay_protocol::Filter;
use hyper_delay_store::{Snapshot, Space, Visit};

/// A store whose reads fail.
struct Unreadable(fn() -> StoreError);

impl ReadStore for Unreadable {
    fn get(&self, _: Space, _: &[u8]) -> Result<Option<hyper_delay_store::Bytes>, StoreError> {
        Err((self.0)())
    }

    fn scan(&self, _: Space, _: &[u8], _: &mut Visit<'_>) -> Result<(), StoreError> {
        Err((self.0)())
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Err((self.0)())
    }
}

/// Sends `stats` and `dead` to a store whose reads fail. Returns the events and the messages,
/// and whether their room was given back.
async fn run_requests(
    error: fn() -> StoreError,
) -> (Receiver<ServerEvent>, Vec<ConsumerMessage>, bool) {
    let config = Arc::new(Config::default());
    let (events, inbox) = mpsc::channel();
    let shared = Arc::new(ConnectionContext {
        store: Arc::new(Unreadable(error)),
        unfinished: Arc::new(UnfinishedLines::new(config.max_unfinished_bytes)),
        config,
        tls: None,
        tokens: watch::channel(None).1,
        failures: Arc::default(),
        events: events.into(),
        clock: Clock::new(),
        freshness: Default::default(),
        ending: watch::channel(false).1,
        logs: Arc::default(),
        backups: Arc::new(Semaphore::new(1)),
        metrics: Arc::default(),
    });
    let outbox = Arc::new(ConnectionOutbox::new(
        1,
        shared.events.reports(),
        2,
        shared.clock,
    ));
    let to = |tag: &str| ReplyTo {
        consumer: 1,
        tag: Some(tag.into()),
        weight: 1,
    };
    outbox.reserve(2).await;
    let responder = |tag| Responder {
        shared: &shared,
        outbox: &outbox,
        reply_to: to(tag),
    };
    stats(responder("stats"), Some("route".into()), None, None).await;
    let letters = DeadLetterRequest {
        route: "route".into(),
        after: None,
        limit: 10,
        filter: Filter::default(),
        payload: false,
    };
    list_dead_letters(responder("dead"), letters).await;
    outbox.close();
    let messages = outbox.take_all().await;
    (inbox, messages.unwrap_or_default(), outbox.is_answered())
}

async fn are_answered(error: fn() -> StoreError) {
    let (events, messages, _) = run_requests(error).await;
    assert!(events.try_recv().is_err(), "the server goes on");
    assert_eq!(messages.len(), 2);
    for (message, asked) in messages.into_iter().zip(["stats", "dead"]) {
        let ConsumerMessage::Reply { reply, tag, weight } = message else {
            panic!("{message:?} is no reply");
        };
        assert_eq!((tag.as_deref(), weight), (Some(asked), 1));
        let Reply::Error(refusal) = reply else {
            panic!("{reply:?} is no error");
        };
        assert_eq!(refusal.code.as_str(), "damaged");
        assert_eq!(refusal.route.as_deref(), Some("route"));
        assert!(refusal.message.contains("hyper-delay verify"), "{refusal}");
    }
}

#[tokio::test]
async fn damage_is_an_error_reply() {
    are_answered(|| StoreError::damage("read", "a checksum does not match")).await;
}

#[tokio::test]
async fn panic_of_a_read_is_an_error_reply() {
    are_answered(|| panic!("an index of a damaged block is out of bounds")).await;
}

#[tokio::test]
async fn failed_disk_ends_the_server() {
    let (events, messages, is_answered) =
        run_requests(|| StoreError::new("read", "input/output error")).await;
    assert!(messages.is_empty() && is_answered);
    for _ in ["stats", "dead"] {
        assert!(matches!(events.try_recv(), Ok(ServerEvent::Failed(_))));
    }
}
