//! Schedules, replaces and cancels tasks, and resends unanswered requests after a kill.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use fastrand::Rng;
use serde_json::{Value, json};
use testkit::{
    Wire,
    request::now,
    wire::{Disconnected, line, text},
};

use crate::{
    book::Life,
    content::{Content, headers, word},
    world::{ROUTES, World},
};

pub(crate) struct Producer {
    world: Arc<World>,
    random: Rng,
    name: usize,
    count: u64,
    /// Unanswered requests by tag.
    unanswered: BTreeMap<String, Pending>,
    /// Tasks that may be replaced or cancelled.
    own: VecDeque<Task>,
}

#[derive(Clone)]
struct Task {
    route: &'static str,
    id: String,
    content: String,
    /// The line that scheduled the task.
    line: Vec<u8>,
    /// The time in the reply.
    fire_at: u64,
}

struct Pending {
    line: Vec<u8>,
    request: Request,
    /// Whether the line was sent on more than one connection.
    resent: bool,
}

enum Request {
    Schedule {
        route: &'static str,
        content: String,
        /// The task that this one replaces.
        replaces: Option<Task>,
    },
    Cancel(Task),
    /// Repeats an acknowledged schedule; its task may be done.
    Repeat(Task),
    /// Looks at an acknowledged task.
    Look(Task),
}

impl Producer {
    pub(crate) fn new(world: Arc<World>, name: usize, seed: u64) -> Self {
        Self {
            world,
            random: Rng::with_seed(seed),
            name,
            count: 0,
            unanswered: BTreeMap::new(),
            own: VecDeque::new(),
        }
    }

    /// Runs until draining starts and all requests are answered.
    pub(crate) fn run(mut self) {
        while !(self.world.is_draining() && self.unanswered.is_empty()) {
            let Some((life, wire)) = self.world.connect() else {
                break;
            };
            // An error means that the server was killed: reconnect to the next one.
            let _ = self.talk(life, wire);
        }
    }

    fn talk(&mut self, life: Life, mut wire: Wire) -> Result<(), Disconnected> {
        for pending in self.unanswered.values_mut() {
            pending.resent = true;
        }
        let lines: Vec<u8> = self
            .unanswered
            .values()
            .flat_map(|pending| pending.line.clone())
            .collect();
        wire.send(&lines)?;
        loop {
            let draining = self.world.is_draining();
            if draining && self.unanswered.is_empty() {
                return Ok(());
            }
            if !draining && self.unanswered.len() < 100 {
                let mut lines = Vec::new();
                for _ in 0..self.random.usize(1..=8) {
                    lines.extend(self.ask());
                }
                wire.send(&lines)?;
            }
            for reply in wire.receive(Duration::from_millis(self.random.u64(1..=20)))? {
                self.answer(&reply, life);
            }
        }
    }

    /// Makes a random new request.
    fn ask(&mut self) -> Vec<u8> {
        match self.random.u8(0..100) {
            0..8 => match self.own.pop_front() {
                Some(task) => self.cancel(task),
                None => self.schedule(None),
            },
            8..16 => {
                let replaces = self.own.pop_front();
                self.schedule(replaces)
            }
            16..24 => match self.own.pop_front() {
                Some(task) => self.repeat(&task),
                None => self.schedule(None),
            },
            24..32 if !self.own.is_empty() => {
                let task = self.random.usize(..self.own.len());
                let task = self.own[task].clone();
                self.look(task)
            }
            _ => self.schedule(None),
        }
    }

    fn repeat(&mut self, task: &Task) -> Vec<u8> {
        let tag = format!("repeat-{}", task.content);
        let mut request: Value = serde_json::from_slice(&task.line).unwrap();
        request["tag"] = tag.clone().into();
        request["id"] = task.id.clone().into();
        if self.random.bool() {
            // Headers are not content: the first ones stay.
            request["headers"] = headers(&mut self.random);
        }
        self.remember(tag, line(&request), Request::Repeat(task.clone()))
    }

    fn look(&mut self, task: Task) -> Vec<u8> {
        self.count += 1;
        let tag = format!("look-{}", self.count);
        let request = json!({
            "kind": "get",
            "tag": tag,
            "route_key": task.route,
            "id": task.id,
            "payload": true,
        });
        self.remember(tag, line(&request), Request::Look(task))
    }

    fn schedule(&mut self, replaces: Option<Task>) -> Vec<u8> {
        self.count += 1;
        let content = format!("{}-{}", self.name, self.count);
        let now = now();
        let fire_at = match self.random.u8(0..4) {
            0 => now.saturating_sub(self.random.u64(0..50)),
            _ => now + self.random.u64(50..1500),
        };
        // The delay of the task ends at that time or later.
        let delay_ms = self.random.bool().then(|| fire_at.saturating_sub(now));
        let size = match self.random.u8(0..10) {
            0 => self.random.usize(0..30_000),
            _ => self.random.usize(0..200),
        };
        let payload = format!("{content} {}", "x".repeat(size));
        let route = match &replaces {
            Some(task) => task.route,
            None => ROUTES[self.random.usize(0..ROUTES.len())],
        };
        let drawn = Content::draw(fire_at, now, &mut self.random);
        let mut request = json!({
            "kind": "schedule",
            "tag": content,
            "route_key": route,
            "payload_base64": STANDARD.encode(payload),
        });
        match delay_ms {
            None => request["fire_at"] = fire_at.into(),
            Some(delay_ms) => request["delay_ms"] = delay_ms.into(),
        }
        request
            .as_object_mut()
            .unwrap()
            .extend(drawn.fields.clone());
        if let Some(task) = &replaces {
            request["id"] = task.id.clone().into();
            request["replace"] = true.into();
        } else if self.random.u8(0..10) > 0 {
            // One in ten schedules names no id: the server makes one.
            request["id"] = format!("id-{content}").into();
        }
        let mut book = self.world.book();
        book.sent(&content, drawn);
        if let Some(task) = &replaces {
            book.withdrawn(&task.id, &task.content);
        }
        drop(book);
        let schedule = Request::Schedule {
            route,
            content: content.clone(),
            replaces,
        };
        self.remember(content, line(&request), schedule)
    }

    fn cancel(&mut self, task: Task) -> Vec<u8> {
        let tag = format!("cancel-{}", task.content);
        let request = json!({
            "kind": "cancel",
            "tag": tag,
            "route_key": task.route,
            "id": task.id,
        });
        self.world.book().withdrawn(&task.id, &task.content);
        self.remember(tag, line(&request), Request::Cancel(task))
    }

    fn remember(&mut self, tag: String, line: Vec<u8>, request: Request) -> Vec<u8> {
        let pending = Pending {
            line: line.clone(),
            request,
            resent: false,
        };
        self.unanswered.insert(tag, pending);
        line
    }

    fn answer(&mut self, reply: &Value, life: Life) {
        let Some(pending) = self.unanswered.remove(text(reply, "tag")) else {
            panic!("a reply without a request: {reply}");
        };
        let mut book = self.world.book();
        let now = now();
        let kind = text(reply, "kind");
        if kind == "error" && has_expired(&pending, reply, now) {
            return;
        }
        match (pending.request, kind) {
            (
                Request::Schedule {
                    route,
                    content,
                    replaces,
                },
                "ack",
            ) => {
                let id = text(reply, "id").to_owned();
                book.acknowledged(&id, &content);
                if let Some(task) = replaces {
                    book.superseded(&task.id, &task.content, life);
                    book.figures.replaced += 1;
                } else {
                    self.own.push_back(Task {
                        route,
                        id,
                        content,
                        line: pending.line,
                        fire_at: reply["fire_at"].as_u64().unwrap(),
                    });
                    if self.own.len() > 200 {
                        self.own.pop_front();
                    }
                }
            }
            (Request::Repeat(task), "ack") => {
                let times = (task.fire_at, reply["fire_at"].as_u64().unwrap());
                book.repeated(&task.id, &task.content, times, now);
            }
            (Request::Cancel(task), "cancelled") => {
                let found = reply["found"].as_bool().unwrap();
                book.figures.cancelled += u64::from(found);
                if found {
                    book.superseded(&task.id, &task.content, life);
                } else if !pending.resent {
                    book.not_found(&task.id, &task.content, now, life);
                }
            }
            (Request::Look(_), "task") if reply["found"] == true => {
                if reply.get("payload_base64").is_some() {
                    book.stored(&word(reply), reply);
                }
            }
            (Request::Look(task), "task") => {
                book.seen_gone(&task.id, &task.content, now, life);
            }
            (_, _) => book.faults.push(format!("unexpected reply: {reply}")),
        }
    }
}

/// Whether a schedule was refused because its time of expiry had passed, or would come before the end
/// of its delay.
fn has_expired(pending: &Pending, reply: &Value, now: u64) -> bool {
    let is_schedule = matches!(
        pending.request,
        Request::Schedule { .. } | Request::Repeat(_)
    );
    let request: Value = serde_json::from_slice(&pending.line).unwrap();
    let Some(at) = request["expires_at"].as_u64().filter(|_| is_schedule) else {
        return false;
    };
    let message = text(reply, "message");
    if !message.starts_with(&format!("expires_at is {at} (")) {
        return false;
    }
    let end = now + request["delay_ms"].as_u64().unwrap_or(0);
    at <= now && message.contains("), which has passed: give a time after ")
        || at <= end && message.contains("): give a time after the end of delay_ms")
}
