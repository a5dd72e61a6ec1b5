use std::sync::mpsc::{self, Receiver};

use tokio::sync::{Semaphore, watch};

use super::*;
use crate::{
    clock::Clock,
    config::Config,
    connection::Unfinished,
    ledger::{Ledger, Op, Order},
    protocol::Compression,
    store::{Batch, Durability, Snapshot, Space, Visit, fake::Fake},
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

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
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

/// Sends `stats` and `dead` to a store whose reads fail. Returns the events and the messages,
/// and whether their room was given back.
async fn ask(error: fn() -> StoreError) -> (Receiver<Event>, Vec<Message>, bool) {
    let config = Arc::new(Config::default());
    let (events, inbox) = mpsc::channel();
    let shared = Arc::new(Shared {
        store: Arc::new(Unreadable(error)),
        unfinished: Arc::new(Unfinished::new(config.max_unfinished_bytes)),
        config,
        tls: None,
        tokens: watch::channel(None).1,
        failures: Arc::default(),
        events,
        clock: Clock::new(),
        own_routes: Arc::default(),
        ending: watch::channel(false).1,
        logs: Arc::default(),
        backups: Arc::new(Semaphore::new(1)),
        metrics: Arc::default(),
    });
    let outbox = Arc::new(Outbox::new(1, shared.events.clone(), 2, shared.clock));
    let to = |tag: &str| ReplyTo {
        consumer: 1,
        tag: Some(tag.into()),
        weight: 1,
    };
    outbox.take(2).await;
    stats(
        &shared,
        &outbox,
        (Some("route".into()), None),
        None,
        to("stats"),
    )
    .await;
    let letters = Letters {
        route: "route".into(),
        after: None,
        limit: 10,
        filter: Filter::default(),
        payload: false,
    };
    dead(&shared, &outbox, letters, to("dead")).await;
    outbox.close();
    let messages = outbox.next(Vec::new()).await;
    (inbox, messages.unwrap_or_default(), outbox.is_answered())
}

async fn are_answered(error: fn() -> StoreError) {
    let (events, messages, _) = ask(error).await;
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
    let (events, messages, is_answered) =
        ask(|| StoreError::new("read", "input/output error")).await;
    assert!(messages.is_empty() && is_answered);
    for _ in ["stats", "dead"] {
        assert!(matches!(events.try_recv(), Ok(Event::Failed(_))));
    }
}

#[test]
fn routes_on_disk_beyond_a_page_are_announced() {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 0).unwrap();
    for (routes, more) in [(Stats::MAX_ROUTES, false), (Stats::MAX_ROUTES + 1, true)] {
        for number in 0..routes {
            let order = Order {
                route: number.to_string().into(),
                id: "1".into(),
                named: true,
                at: 1,
                fire_at: 1,
                compression: Compression::None,
                payload: Box::default(),
                replace: false,
                headers: crate::protocol::Headers::default(),
                terms: None,
            };
            ledger.apply(&Op::Schedule(order), 0).unwrap();
        }
        ledger.commit(Durability::Written, 0).unwrap();
        let stats = counts(
            &View::new(store.clone()),
            &OwnRoutes::default(),
            None,
            |_| true,
        )
        .unwrap();
        assert_eq!((stats.routes.len(), stats.more), (Stats::MAX_ROUTES, more));
    }
}
