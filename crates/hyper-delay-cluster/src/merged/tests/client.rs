//! A client of a node, whose requests pass through the whole of the connection layer.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread,
};

use serde_json::Value;
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Semaphore, watch},
};

use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock,
    front::{ConsumerMessage, FrontInput, ReplyTo},
};
use hyper_delay_protocol::{Encoder, Reply, Version, parse};
use hyper_delay_server::{
    connection::{ConnectionContext, OneShotClient, OneShotRequest, UnfinishedLines},
    driver::ServerEvent,
};
use hyper_delay_store::ReadStore;

pub(super) struct Client<S> {
    guests: OneShotClient<S>,
    _shared: watch::Sender<Arc<ConnectionContext<S>>>,
    runtime: Runtime,
}

impl<S: ReadStore> Client<S> {
    pub(super) fn new(store: Arc<S>) -> Self {
        let config = Arc::new(Config::default());
        let (events, inbox) = mpsc::channel();
        let (shared, receiver) = watch::channel(Arc::new(ConnectionContext {
            store,
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
        }));
        // It ends with the last sender of events.
        thread::spawn(move || pass_on(&inbox));
        Self {
            guests: OneShotClient::new(receiver),
            _shared: shared,
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// Returns the reply to a request.
    pub(super) fn ask(&self, request: &Value) -> Value {
        let asked = OneShotRequest {
            line: parse(request.to_string().as_bytes()).unwrap(),
            address: ([127, 0, 0, 1], 1).into(),
            grant: None,
        };
        let reply = self.runtime.block_on(self.guests.send(asked)).unwrap();
        let mut line = Vec::new();
        Encoder::of(Version::LATEST).encode(&reply, None, &mut line);
        let reply: Value = serde_json::from_slice(&line).unwrap();
        assert_ne!(reply["kind"], "error", "{request}: {reply}");
        reply
    }

    /// Returns the rows of all pages of a reply, and how many each page has.
    pub(super) fn walk(&self, request: &Value, rows: &str) -> (Vec<Value>, Vec<usize>) {
        let mut request = request.clone();
        let (mut all, mut pages) = (Vec::new(), Vec::new());
        loop {
            let mut reply = self.ask(&request);
            let Value::Array(page) = reply[rows].take() else {
                panic!("{request}: {reply} has no {rows}");
            };
            pages.push(page.len());
            all.extend(page);
            if reply["more"] != true {
                return (all, pages);
            }
            let last = all.last().cloned().unwrap_or_default();
            if rows == "lines" {
                request["before"] = last["number"].clone();
            } else if reply.get("next").is_some() {
                request["after"] = reply["next"].take();
            } else {
                request["after"] = last["id"].clone();
            }
        }
    }
}

/// Replies with what was read, as a scheduler does that knows nothing of the tasks.
fn pass_on(inbox: &Receiver<ServerEvent>) {
    let mut outboxes = HashMap::new();
    for event in inbox {
        let (reply_to, reply) = match event {
            ServerEvent::OneShot(id, outbox) => {
                outboxes.insert(id, outbox);
                continue;
            }
            ServerEvent::Input(FrontInput::TaskLookup(seen)) => (seen.reply_to, seen.reply),
            ServerEvent::Input(FrontInput::Stats(asked)) => {
                (asked.reply_to, Reply::Stats(Box::new(asked.stats)))
            }
            ServerEvent::HasConsumers(_, answer) => {
                answer.send(Ok(false)).unwrap();
                continue;
            }
            ServerEvent::Disconnected(id) => {
                outboxes.remove(&id);
                continue;
            }
            event => panic!("{event:?}"),
        };
        let ReplyTo {
            consumer,
            tag,
            weight,
        } = reply_to;
        let outbox = &outboxes[&consumer];
        outbox.push(ConsumerMessage::Reply { reply, tag, weight });
        outbox.wake();
    }
}
