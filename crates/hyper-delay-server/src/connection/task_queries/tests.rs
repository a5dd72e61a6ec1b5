//! What requests read, counted.

use std::sync::mpsc::{self, Receiver};

use tokio::sync::{Semaphore, watch};

use super::*;
use crate::{
    connection::{
        ConnectionContext, UnfinishedLines,
        dead_letters::{DeadLetterRequest, list_dead_letters},
        operator_queries,
    },
    driver::ServerEvent,
    outbox::ConnectionOutbox,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock,
    front::{ConsumerMessage, ReplyTo},
    ledger::{Ledger, Op, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_protocol::{
    BulkAct, BulkRequest, Compression, DeadTask, FailureKind, Filter, LastFailure, TaskState,
};
use hyper_delay_store::{Durability, fake::Fake};

const PAYLOAD: &[u8] = b"hello";

/// The most keys that a request may read.
const MOST: usize = 2_000;

/// A server's connections, over a store with tasks.
struct World {
    shared: Arc<ConnectionContext<Fake>>,
    inbox: Receiver<ServerEvent>,
    store: Arc<Fake>,
}

impl World {
    /// Waiting, parked and dead tasks of two routes, `count` each. Every second waiting and parked one
    /// is retrying.
    fn new(count: u64) -> Self {
        let store = Arc::new(Fake::default());
        let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
        for number in 0..count * 6 {
            let route = ["a", "b"][(number % 2) as usize];
            let order = ScheduleOrder {
                route: route.into(),
                id: number.to_string().into(),
                named: true,
                at: 1_000 + number,
                fire_at: 1_000 + number,
                delay_ms: None,
                compression: Compression::None,
                payload: PAYLOAD.into(),
                replace: false,
                headers: Headers::default(),
                terms: None,
            };
            ledger.apply(&Op::Schedule(order), 0).unwrap();
            let revision = TaskRevision {
                route: route.into(),
                id: number.to_string().into(),
                seq: number + 1,
                attempt: 1,
            };
            let fails = number / 6 % 2 == 0;
            if fails && number / 2 % 3 != 2 {
                let failure = LastFailure {
                    at: 900,
                    kind: FailureKind::Nack,
                    reason: (number / 12 % 2 == 0).then(|| "x".into()),
                };
                let retry = Op::Retry {
                    revision: revision.clone(),
                    at: 1_000 + number,
                    attempt: 1,
                    failures: 1,
                    failure: Some(Box::new(failure)),
                };
                ledger.apply(&retry, 0).unwrap();
            }
            let op = match number / 2 % 3 {
                0 => continue,
                1 => Op::Park(revision),
                _ => Op::Bury {
                    revision,
                    at: 5_000 + number,
                    attempt: 1,
                    failures: 1,
                    reason: Some(["x", "y"][(number / 6 % 2) as usize].into()),
                    failure: None,
                },
            };
            ledger.apply(&op, 0).unwrap();
        }
        ledger.commit(Durability::Written, 0).unwrap();
        let config = Arc::new(Config::default());
        let (events, inbox) = mpsc::channel();
        let shared = ConnectionContext {
            store: store.clone(),
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
        };
        Self {
            shared: Arc::new(shared),
            inbox,
            store,
        }
    }

    /// Returns the reply, before the scheduler adds to it, and the number of keys that were read.
    async fn ask(&self, ask: impl AsyncFnOnce(Responder<'_, Fake>)) -> (Reply, usize) {
        let shared = &self.shared;
        let outbox = Arc::new(ConnectionOutbox::new(
            1,
            shared.events.reports(),
            2,
            shared.clock,
        ));
        outbox.reserve(1).await;
        let responder = Responder {
            shared: &self.shared,
            outbox: &outbox,
            reply_to: ReplyTo {
                consumer: 1,
                tag: None,
                weight: 1,
            },
        };
        let before = self.store.calls().keys;
        ask(responder).await;
        let read = self.store.calls().keys - before;
        outbox.close();
        if let Ok(ServerEvent::Input(FrontInput::TaskLookup(seen))) = self.inbox.try_recv() {
            return (seen.reply, read);
        }
        let messages = outbox.take_all().await.expect("there is a reply");
        let Some(ConsumerMessage::Reply { reply, .. }) = messages.into_iter().next() else {
            panic!("there is no reply");
        };
        (reply, read)
    }

    async fn list(&self, list: &ListRequest) -> (Vec<TaskView>, Option<Arc<str>>, usize) {
        let request = list.clone();
        let ask = async |responder: Responder<'_, Fake>| super::list(responder, request).await;
        match self.ask(ask).await {
            (Reply::List { tasks, next }, read) => (tasks, next, read),
            (reply, _) => panic!("{reply:?}"),
        }
    }

    async fn dead(
        &self,
        letters: &DeadLetterRequest,
    ) -> (Vec<DeadTask>, bool, Option<Arc<str>>, usize) {
        let request = letters.clone();
        let ask =
            async |responder: Responder<'_, Fake>| list_dead_letters(responder, request).await;
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

fn lists() -> Vec<ListRequest> {
    let mut lists = Vec::new();
    for route in [None, Some("b"), Some("other")] {
        for state in [
            None,
            Some(TaskState::Waiting),
            Some(TaskState::Parked),
            Some(TaskState::Dead),
            Some(TaskState::Retrying),
        ] {
            for (limit, payload) in [(1, false), (100, true), (1_000, false), (1_000, true)] {
                lists.push(ListRequest {
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

fn letters(route: &str, filter: Filter, payload: bool) -> DeadLetterRequest {
    DeadLetterRequest {
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
            let after = ListRequest {
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
                let request = letters("a", filter.clone(), payload);
                let (_, _, _, read) = world.dead(&request).await;
                assert!(read <= MOST, "{read} keys for {request:?}");
            }
        }
        for reason in [None, Some("x")] {
            let request = BulkRequest {
                act: BulkAct::Delete,
                route: "a".into(),
                filter: Filter {
                    reason: reason.map(Arc::from),
                    ..Filter::default()
                },
                in_flight: false,
            };
            let dry_run = async |responder: Responder<'_, Fake>| {
                operator_queries::count(responder, request).await;
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
        let reasons = async |responder: Responder<'_, Fake>| {
            operator_queries::reasons(responder, None, TaskState::Dead, None).await;
        };
        let (reply, read) = world.ask(reasons).await;
        assert!(read <= MOST, "{read} keys for {reply:?}");
        let reasons = async |responder: Responder<'_, Fake>| {
            operator_queries::reasons(responder, None, TaskState::Retrying, None).await;
        };
        let (reply, read) = world.ask(reasons).await;
        assert!(read <= MOST, "{read} keys for {reply:?}");
        let Reply::Reasons { reasons, next } = reply else {
            panic!("{reply:?}");
        };
        assert!(
            reasons
                .iter()
                .all(|row| row.failure == Some(FailureKind::Nack))
        );
        let sum: u64 = reasons.iter().map(|row| row.tasks).sum();
        assert_eq!(sum == 2 * count, next.is_none(), "{sum} of {count}");
        let jobs = async |responder: Responder<'_, Fake>| operator_queries::jobs(responder).await;
        let (_, read) = world.ask(jobs).await;
        assert!(read <= MOST, "{read} keys for the jobs");
        let audit = async |responder: Responder<'_, Fake>| {
            operator_queries::audit(responder, None, 1_000).await;
        };
        let (_, read) = world.ask(audit).await;
        assert!(read <= MOST, "{read} keys for the audit");
        let task = async |responder: Responder<'_, Fake>| {
            get(responder, "a".into(), "4".into(), true).await;
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
        let mut request = list.clone();
        loop {
            let (tasks, next, _) = world.list(&request).await;
            assert!(tasks.len() <= usize::from(list.limit));
            all.extend(tasks);
            match next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        let routes = match list.route.as_deref() {
            None => 2,
            Some("b") => 1,
            Some(_) => 0,
        };
        let states = if list.state.is_some() { 1 } else { 3 };
        if list.state == Some(TaskState::Retrying) {
            assert!(all.iter().all(|task| task.last_failure.is_some()));
        }
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
async fn retrying_tasks_are_filtered_by_reason_and_time() {
    let world = World::new(40);
    let list = |route: Option<&str>, reason: Option<&str>, from, until| ListRequest {
        route: route.map(Arc::from),
        state: Some(TaskState::Retrying),
        filter: Filter {
            reason: reason.map(Arc::from),
            from,
            until,
        },
        after: None,
        limit: 1_000,
        payload: false,
    };
    for (request, count) in [
        (list(None, None, None, None), 80),
        (list(Some("a"), None, None, None), 40),
        (list(Some("a"), Some("x"), None, None), 20),
        (list(Some("a"), Some(""), None, None), 20),
        (list(Some("a"), Some("y"), None, None), 0),
        // The first twelve tasks of both routes, of which a third are dead.
        (list(Some("a"), None, None, Some(1_012)), 2),
        (list(None, None, Some(1_012), None), 76),
    ] {
        let (tasks, next, _) = world.list(&request).await;
        assert_eq!((tasks.len(), next), (count, None), "{request:?}");
        for task in tasks {
            assert!(matches!(task.state, TaskState::Waiting | TaskState::Parked));
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
    let mut request = letters("a", Filter::default(), false);
    request.filter.reason = Some("z".into());
    let (tasks, more, next, _) = world.dead(&request).await;
    assert!(tasks.is_empty() && more);
    request.after = Some(next.expect("nothing was listed"));
    let (tasks, more, next, _) = world.dead(&request).await;
    assert!(tasks.is_empty() && more && next.is_some());
    let (tasks, more, ..) = world.dead(&letters("a", only_last, true)).await;
    assert_eq!((tasks.len(), more), (1, false));
    let content = tasks[0].content.as_ref().expect("it was asked for");
    assert_eq!(content.payload.as_deref(), Some(PAYLOAD));
}
