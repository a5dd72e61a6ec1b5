use std::sync::{
    Arc,
    mpsc::{self, Receiver},
};

use tokio::sync::{Semaphore, watch};

use super::PAYLOAD;
use crate::{
    connection::{
        ConnectionContext, UnfinishedLines,
        dead_letters::{DeadLetterRequest, list_dead_letters},
        responder::Responder,
        task_queries::list as list_tasks,
    },
    driver::ServerEvent,
    outbox::ConnectionOutbox,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock,
    front::{ConsumerMessage, FrontInput, ReplyTo},
    ledger::{Ledger, Op, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_protocol::{
    Compression, DeadTask, FailureKind, Headers, LastFailure, ListRequest, Reply, TaskView,
};
use hyper_delay_store::{Durability, fake::Fake};

/// A server's connections, over a store with tasks.
pub(super) struct World {
    shared: Arc<ConnectionContext<Fake>>,
    inbox: Receiver<ServerEvent>,
    store: Arc<Fake>,
}

impl World {
    /// Waiting, parked and dead tasks of two routes, `count` each. Every second waiting and parked one
    /// is retrying.
    pub(super) fn new(count: u64) -> Self {
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
    pub(super) async fn ask(&self, ask: impl AsyncFnOnce(Responder<'_, Fake>)) -> (Reply, usize) {
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

    pub(super) async fn list(
        &self,
        list: &ListRequest,
    ) -> (Vec<TaskView>, Option<Arc<str>>, usize) {
        let request = list.clone();
        let ask = async |responder: Responder<'_, Fake>| list_tasks(responder, request).await;
        match self.ask(ask).await {
            (Reply::List { tasks, next }, read) => (tasks, next, read),
            (reply, _) => panic!("{reply:?}"),
        }
    }

    pub(super) async fn dead(
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
