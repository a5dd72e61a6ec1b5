//! What is said most.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::Peer;

/// Unix milliseconds.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("it is past 1970").as_millis()).expect("it is not that late")
}

/// Later than any test takes.
pub(crate) fn later() -> u64 {
    now() + 3_600_000
}

pub(crate) fn schedule(route: &str, id: &str, fire_at: u64) -> String {
    format!(r#"{{"kind":"schedule","id":"{id}","route_key":"{route}","fire_at":{fire_at}}}"#)
}

/// The next revision of a task, due at once.
pub(crate) fn replace(route: &str, id: &str, payload: &str) -> String {
    format!(
        r#"{{"kind":"schedule","id":"{id}","route_key":"{route}","fire_at":1,"payload_base64":"{payload}","replace":true}}"#
    )
}

/// An ack or a nack that names a delivery exactly.
pub(crate) fn echo(kind: &str, delivery: &Value) -> String {
    let [id, route, attempt] = ["id", "route_key", "attempt"].map(|name| &delivery[name]);
    format!(r#"{{"kind":"{kind}","id":{id},"route_key":{route},"attempt":{attempt}}}"#)
}

/// The same, with one more field.
pub(crate) fn echo_with(kind: &str, delivery: &Value, field: &str) -> String {
    echo(kind, delivery).replacen('{', &format!("{{{field},"), 1)
}

impl Peer {
    pub(crate) fn register(&mut self, route: &str) {
        let reply = self.ask(&format!(r#"{{"kind":"register","route_key":"{route}"}}"#));
        assert_eq!(reply["kind"], "registered", "{reply}");
    }

    pub(crate) fn register_with(&mut self, route: &str, fields: &str) -> Value {
        self.ask(&format!(
            r#"{{"kind":"register","route_key":"{route}",{fields}}}"#
        ))
    }

    /// Schedules a task.
    pub(crate) fn plan(&mut self, route: &str, id: &str, fire_at: u64) {
        let reply = self.ask(&schedule(route, id, fire_at));
        assert_eq!(reply["kind"], "ack", "{reply}");
    }

    /// Schedules a task that is due.
    pub(crate) fn due(&mut self, route: &str, id: &str) {
        self.plan(route, id, 1);
    }

    /// Acknowledges a delivery, and tells whether that removed the task.
    pub(crate) fn removes(&mut self, delivery: &Value) -> bool {
        let acked = self.ask(&echo_with("ack", delivery, r#""confirm":true"#));
        assert_eq!(acked["kind"], "acked", "{acked}");
        acked["removed"].as_bool().expect("it is a flag")
    }

    /// The code of the error that a line is answered by.
    pub(crate) fn code(&mut self, request: &str) -> String {
        let reply = self.ask(request);
        assert_eq!(reply["kind"], "error", "{reply} to {request}");
        reply["code"].as_str().expect("it is a text").to_owned()
    }

    /// The counts of a route, or null if there is nothing to count.
    pub(crate) fn stats(&mut self, route: &str) -> Value {
        let mut stats = self.ask(&format!(r#"{{"kind":"stats","route_key":"{route}"}}"#));
        stats
            .pointer_mut("/routes/0")
            .map(Value::take)
            .unwrap_or_default()
    }

    pub(crate) fn all_stats(&mut self) -> Value {
        self.ask(r#"{"kind":"stats"}"#)
    }

    /// Asks for the counts until they are as wanted.
    pub(crate) fn stats_until(&mut self, route: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until(|peer| peer.stats(route), |stats| wanted(stats))
    }

    pub(crate) fn until(
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
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it stays {found}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The texts of a field of many lines.
pub(crate) fn all<'a>(lines: &'a [Value], name: &str) -> Vec<&'a str> {
    let texts = lines.iter().map(|line| line[name].as_str());
    texts.map(|text| text.expect("it is a text")).collect()
}
