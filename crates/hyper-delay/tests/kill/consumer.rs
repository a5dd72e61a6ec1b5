//! Takes deliveries, acknowledges most of them, and reconnects at random.

use std::{collections::HashMap, sync::Arc, time::Duration};

use fastrand::Rng;
use serde_json::{Value, json};
use testkit::{
    Wire,
    request::now,
    wire::{Disconnected, line, text},
};

use crate::{
    book::Life,
    content::word,
    world::{HEDGED, World},
};

pub(crate) struct Consumer {
    world: Arc<World>,
    random: Rng,
    routes: Vec<&'static str>,
}

impl Consumer {
    pub(crate) fn new(world: Arc<World>, routes: Vec<&'static str>, seed: u64) -> Self {
        Self {
            world,
            random: Rng::with_seed(seed),
            routes,
        }
    }

    /// Runs until the end of the test run.
    pub(crate) fn run(mut self) {
        while let Some((life, wire)) = self.world.connect() {
            let _ = self.talk(life, wire);
        }
    }

    fn talk(&mut self, life: Life, mut wire: Wire) -> Result<(), Disconnected> {
        for route in &self.routes {
            let credit = self.random.u16(1..300);
            let mode = if self.random.u8(0..20) == 0 {
                "exclusive"
            } else {
                "shared"
            };
            let request = json!({
                "kind": "register",
                "route_key": route,
                "credit": credit,
                "mode": mode,
            });
            wire.send(&line(&request))?;
        }
        // Id and content of the acks whose confirmation is pending, by tag.
        let mut unconfirmed: HashMap<String, (String, String)> = HashMap::new();
        while !self.world.is_over() {
            // Reconnects at random.
            if !self.world.is_draining() && self.random.u16(0..50) == 0 {
                return Ok(());
            }
            let mut answers = Vec::new();
            for message in wire.receive(Duration::from_millis(10))? {
                match text(&message, "kind") {
                    "delivery" => answers.extend(self.delivery(&message, life, &mut unconfirmed)),
                    "acked" => {
                        let (id, content) = &unconfirmed[text(&message, "tag")];
                        if message["removed"].as_bool().unwrap() {
                            self.world.book().removed(id, content, life);
                        }
                    }
                    "registered" | "touched" => {}
                    // Another consumer took the route: a new connection takes it back.
                    "unregistered" => return Ok(()),
                    other => panic!("unexpected kind {other}: {message}"),
                }
            }
            wire.send(&answers)?;
        }
        Ok(())
    }

    fn delivery(
        &mut self,
        delivery: &Value,
        life: Life,
        unconfirmed: &mut HashMap<String, (String, String)>,
    ) -> Vec<u8> {
        let now = now();
        let content = &word(delivery);
        let id = text(delivery, "id");
        let is_hedged = HEDGED.contains(&text(delivery, "route_key"));
        let mut book = self.world.book();
        book.delivered(id, (content, delivery), now, life, is_hedged);
        drop(book);
        let mut lines = Vec::new();
        if self.random.u8(0..20) == 0 {
            let mut touch = answer("touch", delivery);
            if self.random.bool() {
                touch["extend_ms"] = self.random.u64(1..3_000).into();
            }
            lines = line(&touch);
        }
        let kind = match self.random.u8(0..100) {
            0..10 if !self.world.is_draining() => "nack",
            10..14 if !self.world.is_draining() => return lines,
            _ => "ack",
        };
        let mut answer = answer(kind, delivery);
        if kind == "nack" {
            if self.random.bool() {
                answer["delay_ms"] = self.random.u64(0..300).into();
            }
            if self.random.bool() {
                answer["reason"] = "no disk".into();
            }
            lines.extend(line(&answer));
            return lines;
        }
        self.world.book().answered(id, content);
        if self.random.u8(0..10) > 0 {
            let tag = format!("{}-{}", unconfirmed.len(), content);
            answer["confirm"] = true.into();
            answer["tag"] = tag.clone().into();
            unconfirmed.insert(tag, (id.to_owned(), content.to_owned()));
        }
        lines.extend(line(&answer));
        lines
    }
}

/// An answer to a delivery, or a request for more time.
fn answer(kind: &str, delivery: &Value) -> Value {
    json!({
        "kind": kind,
        "id": delivery["id"],
        "route_key": delivery["route_key"],
        "attempt": delivery["attempt"],
    })
}
