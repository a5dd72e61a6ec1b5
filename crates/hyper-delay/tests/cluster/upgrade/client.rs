//! A client of one node, which may lose its leaders at any time.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::line::{Came, Line};

/// How long a node may take for its replies. It waits for a leader for one lease at most.
const PATIENCE: Duration = Duration::from_secs(15);

/// Requests and deliveries of a connection.
pub(crate) struct Client {
    line: Line,
    deliveries: VecDeque<Value>,
    tags: u32,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self {
            line: Line::connect(address).expect("the node listens"),
            deliveries: VecDeque::new(),
            tags: 0,
        }
    }

    pub(crate) fn send(&self, request: &Value) {
        self.line.send(request);
    }

    /// Sends requests, and returns their replies. Null: there was none, or no leader was reached.
    pub(crate) fn ask_all(&mut self, requests: impl Iterator<Item = Value>) -> Vec<Value> {
        let mut waiting = BTreeMap::new();
        let mut replies = Vec::new();
        for mut request in requests {
            self.tags += 1;
            let tag = format!("t{}", self.tags);
            request["tag"] = (&*tag).into();
            self.line.send(&request);
            waiting.insert(tag, replies.len());
            replies.push(Value::Null);
        }
        let begun = Instant::now();
        while !waiting.is_empty() && begun.elapsed() < PATIENCE {
            let Some(reply) = self.read() else {
                continue;
            };
            let place = reply["tag"].as_str().and_then(|tag| waiting.remove(tag));
            if let (Some(place), true) = (place, reply["code"] != "unavailable") {
                replies[place] = reply;
            }
        }
        replies
    }

    /// Sends a request, and returns its reply as [`ask_all`](Self::ask_all).
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let mut replies = self.ask_all([request.clone()].into_iter());
        replies.pop().expect("there is one of each request")
    }

    /// Asks until the reply is as wanted. `None` if it is not for long.
    pub(crate) fn until(
        &mut self,
        request: &Value,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let begun = Instant::now();
        loop {
            let reply = self.ask(request);
            if wanted(&reply) {
                return Some(reply);
            }
            if begun.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the next delivery. `None` if none comes for some time.
    pub(crate) fn delivery(&mut self, patience: Duration) -> Option<Value> {
        let begun = Instant::now();
        while self.deliveries.is_empty() && begun.elapsed() < patience {
            self.read();
        }
        self.deliveries.pop_front()
    }

    /// Reads a line. Keeps it if it is a delivery.
    fn read(&mut self) -> Option<Value> {
        match self.line.next() {
            Came::Line(line) if line["kind"] == "delivery" => {
                self.deliveries.push_back(line);
                None
            }
            Came::Line(line) => Some(line),
            Came::Nothing => None,
            Came::End => panic!("the node runs, and the connection has ended"),
        }
    }
}
