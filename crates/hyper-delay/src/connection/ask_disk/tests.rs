use std::sync::mpsc::{self, Receiver};

use tokio::sync::watch;

use super::*;
use crate::{
    clock::Clock,
    config::Config,
    connection::Unfinished,
    store::{Batch, Durability, Space, Visit},
};

/// A store whose reads fail.
struct Unreadable(fn() -> StoreError);

impl Store for Unreadable {
    fn get(&self, _: Space, _: &[u8]) -> Result<Option<crate::store::Bytes>, StoreError> {
        Err((self.0)())
    }

    fn scan(&self, _: Space, _: &[u8], _: &mut Visit<'_>) -> Result<(), StoreError> {
        Err((self.0)())
    }

    fn commit(&self, _: Batch, _: Durability) -> Result<(), StoreError> {
        unreachable!("nothing is written")
    }

    fn clear(&self, _: Space) -> Result<(), StoreError> {
        unreachable!("nothing is written")
    }

    fn sync(&self) -> Result<(), StoreError> {
        unreachable!("nothing is written")
    }
}

/// Sends `stats` and `dead` to a store whose reads fail. Returns the events and the messages.
async fn ask(error: fn() -> StoreError) -> (Receiver<Event>, Vec<Message>) {
    let config = Arc::new(Config::default());
    let (events, inbox) = mpsc::channel();
    let shared = Arc::new(Shared {
        store: Arc::new(Unreadable(error)),
        unfinished: Arc::new(Unfinished::new(config.max_unfinished_bytes)),
        config,
        events,
        clock: Clock::new(),
        own_routes: Arc::default(),
        ending: watch::channel(false).1,
        logs: Arc::default(),
    });
    let outbox = Arc::new(Outbox::new(2, shared.clock));
    let to = |tag: &str| ReplyTo {
        consumer: 1,
        tag: Some(tag.into()),
        weight: 1,
    };
    outbox.take(2).await;
    stats(&shared, &outbox, (Some("route".into()), None), to("stats")).await;
    dead(&shared, &outbox, ("route".into(), None, 10), to("dead")).await;
    outbox.close();
    let messages = outbox.next(Vec::new()).await;
    (inbox, messages.unwrap_or_default())
}

async fn are_answered(error: fn() -> StoreError) {
    let (events, messages) = ask(error).await;
    assert!(events.try_recv().is_err(), "the server goes on");
    assert_eq!(messages.len(), 2);
    for (message, asked) in messages.into_iter().zip(["stats", "dead"]) {
        let Message::Reply { reply, tag, weight } = message else {
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
    let (events, messages) = ask(|| StoreError::new("read", "input/output error")).await;
    assert!(messages.is_empty());
    for _ in ["stats", "dead"] {
        assert!(matches!(events.try_recv(), Ok(Event::Failed(_))));
    }
}
