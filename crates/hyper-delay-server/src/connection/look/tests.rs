//! What requests read, counted.

use std::sync::mpsc::{self, Receiver};

use tokio::sync::{Semaphore, watch};

use super::*;
use crate::{
    connection::{
        Shared, Unfinished,
        dead::{self, Letters},
        operations,
    },
    driver::Event,
    outbox::Outbox,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock,
    ledger::{Ledger, Op, Order, Subject},
    scheduler::{Message, ReplyTo},
    sizes::Sizes,
};
use hyper_delay_protocol::{BulkAct, BulkRequest, Compression, DeadTask, Filter};
use hyper_delay_store::{Durability, fake::Fake};

const PAYLOAD: &[u8] = b"hello";

/// The most keys that a request may read.
const MOST: usize = 2_000;

/// A server's connections, over a store with tasks.
struct World {
    shared: Arc<Shared<Fake>>,
    inbox: Receiver<Event>,
    store: Arc<Fake>,
}

impl World {
    /// Waiting, parked and dead tasks of two routes, `count` each.
    fn new(count: u64) -> Self {
        let store = Arc::new(Fake::default());
        let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
        for number in 0..count * 6 {
            let route = ["a", "b"][(number % 2) as usize];
            let order = Order {
                route: route.into(),
                id: number.to_string().into(),
                named: true,
                at: 1_000 + number,
                fire_at: 1_000 + number,
                compression: Compression::None,
                payload: PAYLOAD.into(),
                replace: false,
                headers: Headers::default(),
                terms: None,
            };
            ledger.apply(&Op::Schedule(order), 0).unwrap();
            let subject = Subject {
                route: route.into(),
                id: number.to_string().into(),
                seq: number + 1,
                attempt: 1,
            };
            let op = match number / 2 % 3 {
                0 => continue,
                1 => Op::Park(subject),
                _ => Op::Bury {
                    subject,
                    at: 5_000 + number,
                    attempt: 1,
                    failures: 1,
                    reason: Some(["x", "y"][(number / 6 % 2) as usize].into()),
                },
            };
            ledger.apply(&op, 0).unwrap();
        }
        ledger.commit(Durability::Written, 0).unwrap();
        let config = Arc::new(Config::default());
        let (events, inbox) = mpsc::channel();
        let shared = Shared {
            store: store.clone(),
            unfinished: Arc::new(Unfinished::new(config.max_unfinished_bytes)),
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
        };
        Self {
            shared: Arc::new(shared),
            inbox,
            store,
        }
    }

    /// Returns the reply, before the scheduler adds to it, and the number of keys that were read.
    async fn ask(&self, ask: impl AsyncFnOnce(Asker<'_, Fake>)) -> (Reply, usize) {
        let shared = &self.shared;
        let outbox = Arc::new(Outbox::new(1, shared.events.reports(), 2, shared.clock));
        outbox.take(1).await;
        let asker = Asker {
            shared: &self.shared,
            outbox: &outbox,
            reply_to: ReplyTo {
                consumer: 1,
                tag: None,
                weight: 1,
            },
        };
        let before = self.store.asked().keys;
        ask(asker).await;
        let read = self.store.asked().keys - before;
        outbox.close();
        if let Ok(Event::Input(Input::Seen(seen))) = self.inbox.try_recv() {
            return (seen.reply, read);
        }
        let messages = outbox.all().await.expect("there is a reply");
        let Some(Message::Reply { reply, .. }) = messages.into_iter().next() else {
            panic!("there is no reply");
        };
        (reply, read)
    }

    async fn list(&self, list: &List) -> (Vec<Seen>, Option<Arc<str>>, usize) {
        let asked = list.clone();
        let ask = async |asker: Asker<'_, Fake>| super::list(asker, asked).await;
        match self.ask(ask).await {
            (Reply::List { tasks, next }, read) => (tasks, next, read),
            (reply, _) => panic!("{reply:?}"),
        }
    }

    async fn dead(&self, letters: &Letters) -> (Vec<DeadTask>, bool, Option<Arc<str>>, usize) {
        let asked = letters.clone();
        let ask = async |asker: Asker<'_, Fake>| dead::dead(asker, asked).await;
        match self.ask(ask).await {
            (
                Reply::Dead {
                    tasks, more, next, ..
                },
                read,
            ) => (tasks, more, next, read),
            (reply, _) => panic!("{reply:?}"),
        }
    }
}

fn lists() -> Vec<List> {
    let mut lists = Vec::new();
    for route in [None, Some("b"), Some("other")] {
        for state in [
            None,
            Some(State::Waiting),
            Some(State::Parked),
            Some(State::Dead),
        ] {
            for (limit, payload) in [(1, false), (100, true), (1_000, false), (1_000, true)] {
                lists.push(List {
                    route: route.map(Arc::from),
                    state,
                    filter: Filter::default(),
                    after: None,
                    limit,
                    payload,
                });
            }
        }
    }
    lists
}

fn letters(route: &str, filter: Filter, payload: bool) -> Letters {
    Letters {
        route: route.into(),
        after: None,
        limit: 1_000,
        filter,
        payload,
    }
}

#[tokio::test]
async fn every_request_reads_a_bounded_number_of_keys() {
    for count in [10, 20_000] {
        let world = World::new(count);
        for list in lists() {
            let (_, next, read) = world.list(&list).await;
            assert!(read <= MOST, "{read} keys for {list:?}");
            let after = List {
                after: next,
                ..list
            };
            let (_, _, read) = world.list(&after).await;
            assert!(read <= MOST, "{read} keys for {after:?}");
        }
        let no_such = Filter {
            reason: Some("z".into()),
            ..Filter::default()
        };
        for filter in [Filter::default(), no_such] {
            for payload in [false, true] {
                let asked = letters("a", filter.clone(), payload);
                let (_, _, _, read) = world.dead(&asked).await;
                assert!(read <= MOST, "{read} keys for {asked:?}");
            }
        }
        for reason in [None, Some("x")] {
            let asked = BulkRequest {
                act: BulkAct::Delete,
                route: "a".into(),
                filter: Filter {
                    reason: reason.map(Arc::from),
                    ..Filter::default()
                },
                in_flight: false,
                dry_run: true,
            };
            let dry_run = async |asker: Asker<'_, Fake>| {
                operations::count(asker, asked).await;
            };
            let (reply, read) = world.ask(dry_run).await;
            assert!(read <= MOST, "{read} keys for {reply:?}");
            let Reply::Count { tasks, more, .. } = reply else {
                panic!("{reply:?}");
            };
            let matching = match reason {
                None => count,
                Some(_) => count / 2,
            };
            assert!(
                tasks == matching || more && tasks < matching,
                "{tasks} of {matching}"
            );
        }
        let reasons = async |asker: Asker<'_, Fake>| {
            operations::reasons(asker, (None, None)).await;
        };
        let (reply, read) = world.ask(reasons).await;
        assert!(read <= MOST, "{read} keys for {reply:?}");
        let jobs = async |asker: Asker<'_, Fake>| operations::jobs(asker).await;
        let (_, read) = world.ask(jobs).await;
        assert!(read <= MOST, "{read} keys for the jobs");
        let audit = async |asker: Asker<'_, Fake>| {
            operations::audit(asker, (None, 1_000)).await;
        };
        let (_, read) = world.ask(audit).await;
        assert!(read <= MOST, "{read} keys for the audit");
        let task = async |asker: Asker<'_, Fake>| {
            get(asker, ("a".into(), "4".into(), true)).await;
        };
        let (reply, read) = world.ask(task).await;
        assert!(matches!(reply, Reply::Task { task: Some(_), .. }));
        assert!(read <= 3, "{read}");
    }
}

#[tokio::test]
async fn pages_of_a_list_have_every_task_once() {
    let world = World::new(40);
    for list in lists().into_iter().filter(|list| list.limit < 1_000) {
        let mut all = Vec::new();
        let mut asked = list.clone();
        loop {
            let (tasks, next, _) = world.list(&asked).await;
            assert!(tasks.len() <= usize::from(list.limit));
            all.extend(tasks);
            match next {
                Some(next) => asked.after = Some(next),
                None => break,
            }
        }
        let routes = match list.route.as_deref() {
            None => 2,
            Some("b") => 1,
            Some(_) => 0,
        };
        let states = if list.state.is_some() { 1 } else { 3 };
        assert_eq!(all.len(), routes * states * 40, "{list:?}");
        let mut ids: Vec<_> = all.iter().map(|task| task.id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all.len(), "{list:?}");
        for task in &all {
            let number: u64 = task.id.parse().unwrap();
            assert_eq!(task.fire_at, 1_000 + number);
            let payload = task
                .content
                .as_ref()
                .map(|content| content.payload.as_deref());
            assert_eq!(payload, list.payload.then_some(Some(PAYLOAD)));
        }
    }
}

#[tokio::test]
async fn a_page_of_dead_letters_without_a_match_says_where_it_ended() {
    let world = World::new(10_000);
    let only_last = Filter {
        from: Some(5_000 + 60_000 - 6),
        reason: Some("y".into()),
        ..Filter::default()
    };
    let mut asked = letters("a", Filter::default(), false);
    asked.filter.reason = Some("z".into());
    let (tasks, more, next, _) = world.dead(&asked).await;
    assert!(tasks.is_empty() && more);
    asked.after = Some(next.expect("nothing was listed"));
    let (tasks, more, next, _) = world.dead(&asked).await;
    assert!(tasks.is_empty() && more && next.is_some());
    let (tasks, more, ..) = world.dead(&letters("a", only_last, true)).await;
    assert_eq!((tasks.len(), more), (1, false));
    let content = tasks[0].content.as_ref().expect("it was asked for");
    assert_eq!(content.payload.as_deref(), Some(PAYLOAD));
}
