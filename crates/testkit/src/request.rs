//! The requests that tests send most.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::{PATIENCE, Peer};

/// The time in Unix milliseconds.
#[must_use]
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("it is past 1970").as_millis()).expect("it is not that late")
}

/// A time after the end of any test.
#[must_use]
pub fn later() -> u64 {
    now() + 3_600_000
}

/// A schedule of a task without payload.
#[must_use]
pub fn schedule(route: &str, id: &str, fire_at: u64) -> String {
    format!(r#"{{"kind":"schedule","id":"{id}","route_key":"{route}","fire_at":{fire_at}}}"#)
}

/// The next revision of a task, due at once.
#[must_use]
pub fn replace(route: &str, id: &str, payload: &str) -> String {
    format!(
        r#"{{"kind":"schedule","id":"{id}","route_key":"{route}","fire_at":1,"payload_base64":"{payload}","replace":true}}"#
    )
}

/// An ack or a nack with the route and the attempt of a delivery.
#[must_use]
pub fn echo(kind: &str, delivery: &Value) -> String {
    let [id, route, attempt] = ["id", "route_key", "attempt"].map(|name| &delivery[name]);
    format!(r#"{{"kind":"{kind}","id":{id},"route_key":{route},"attempt":{attempt}}}"#)
}

/// Like [`echo`], with one more field.
#[must_use]
pub fn echo_with(kind: &str, delivery: &Value, field: &str) -> String {
    echo(kind, delivery).replacen('{', &format!("{{{field},"), 1)
}

impl Peer {
    /// Registers a route.
    pub fn register(&mut self, route: &str) {
        let reply = self.ask(&format!(r#"{{"kind":"register","route_key":"{route}"}}"#));
        assert_eq!(reply["kind"], "registered", "{reply}");
    }

    /// Registers a route with more fields, and returns the reply.
    pub fn register_with(&mut self, route: &str, fields: &str) -> Value {
        self.ask(&format!(
            r#"{{"kind":"register","route_key":"{route}",{fields}}}"#
        ))
    }

    /// Schedules a task.
    pub fn plan(&mut self, route: &str, id: &str, fire_at: u64) {
        let reply = self.ask(&schedule(route, id, fire_at));
        assert_eq!(reply["kind"], "ack", "{reply}");
    }

    /// Schedules a task that is due.
    pub fn due(&mut self, route: &str, id: &str) {
        self.plan(route, id, 1);
    }

    /// Acknowledges a delivery; whether that removed the task.
    pub fn removes(&mut self, delivery: &Value) -> bool {
        let acked = self.ask(&echo_with("ack", delivery, r#""confirm":true"#));
        assert_eq!(acked["kind"], "acked", "{acked}");
        acked["removed"].as_bool().expect("it is a flag")
    }

    /// Sends a request that is refused, and returns the code of the error.
    pub fn code(&mut self, request: &str) -> String {
        let reply = self.ask(request);
        assert_eq!(reply["kind"], "error", "{reply} to {request}");
        reply["code"].as_str().expect("it is a text").to_owned()
    }

    /// The counts of a route. Null if the server has no counts for it.
    pub fn stats(&mut self, route: &str) -> Value {
        let mut stats = self.ask(&format!(r#"{{"kind":"stats","route_key":"{route}"}}"#));
        stats
            .pointer_mut("/routes/0")
            .map(Value::take)
            .unwrap_or_default()
    }

    /// The counts of the whole server.
    pub fn all_stats(&mut self) -> Value {
        self.ask(r#"{"kind":"stats"}"#)
    }

    /// Asks for the counts of a route until they are as wanted.
    pub fn stats_until(&mut self, route: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until(|peer| peer.stats(route), |stats| wanted(stats))
    }

    /// Asks until the answer is as wanted.
    pub fn until(
        &mut self,
        mut ask: impl FnMut(&mut Self) -> Value,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let start = Instant::now();
        loop {
            let found = ask(self);
            if wanted(&found) {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "it stays {found}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A string field of each line.
#[must_use]
pub fn all<'a>(lines: &'a [Value], name: &str) -> Vec<&'a str> {
    let texts = lines.iter().map(|line| line[name].as_str());
    texts.map(|text| text.expect("it is a text")).collect()
}
