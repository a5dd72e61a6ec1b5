//! The line of the protocol that a request over HTTP becomes.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::query::Parameter;
use crate::http::problem::Problem;
use hyper_delay_protocol::Code;

/// Fields that a body must not have: they come from elsewhere.
const ELSEWHERE: [(&str, &str); 3] = [
    ("kind", "leave it out, the path says it"),
    ("tag", "leave it out, each request has its own answer"),
    ("token", "send it in the header Authorization: Bearer"),
];

/// A line in the making.
#[derive(Debug)]
pub(super) struct LineBuilder {
    line: String,
    fields: Vec<&'static str>,
}

impl LineBuilder {
    pub(super) fn new(kind: &str) -> Self {
        let kind = serde_json::Value::from(kind);
        Self {
            line: format!("{{\"kind\":{kind}"),
            fields: Vec::new(),
        }
    }

    /// Adds a field.
    pub(super) fn add(&mut self, parameter: Parameter, value: &str) {
        let Parameter { field, kind, .. } = parameter;
        self.line.push_str(",\"");
        self.line.push_str(field);
        self.line.push_str("\":");
        self.line.push_str(&kind.json(value));
        self.fields.push(field);
    }

    /// Adds the fields of a body: a JSON object, or nothing.
    ///
    /// # Errors
    ///
    /// If it is something else, or has a field that is not `allowed`. One that is ignored could
    /// have been meant to limit what is deleted.
    pub(super) fn add_body(&mut self, body: &[u8], allowed: &[&str]) -> Result<(), Problem> {
        let text = std::str::from_utf8(body).map_err(|error| {
            let byte = error.valid_up_to() + 1;
            let text = format!("byte {byte} of the body is not UTF-8: send the text in UTF-8");
            Problem::of(Code::BadUtf8, text)
        })?;
        let text = text.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        let body: BodyFields<'_> = serde_json::from_str(text).map_err(|error| {
            let text = format!("the body is not a JSON object, {error}: send one JSON object");
            Problem::of(Code::BadJson, text)
        })?;
        for (field, cure) in ELSEWHERE {
            if body.0.contains_key(field) {
                let text = format!("{field} is in the body: {cure}");
                return Err(Problem::bad_field(text));
            }
        }
        for field in &self.fields {
            if body.0.contains_key(*field) {
                let text = format!("{field} is in the body: leave it out, the path has it");
                return Err(Problem::bad_field(text));
            }
        }
        if let Some(field) = body
            .0
            .keys()
            .find(|field| !allowed.contains(&field.as_str()))
        {
            let cure = match allowed {
                [] => "leave the body out, this request has no fields".to_owned(),
                _ => format!("give {}", allowed.join(", ")),
            };
            let text = format!("{field:?} is in the body: {cure}");
            return Err(Problem::bad_field(text));
        }
        if !body.0.is_empty() {
            let inner = text.strip_prefix('{').unwrap_or(text);
            self.line.push(',');
            self.line.push_str(inner);
            // The object of the line ends with that of the body.
            self.line.truncate(self.line.len() - 1);
        }
        Ok(())
    }

    /// Returns the line.
    pub(super) fn finish(mut self) -> String {
        self.line.push('}');
        self.line
    }
}

/// The names of the fields of a body. A field that is there twice is refused with the line.
#[derive(Deserialize)]
#[serde(transparent)]
struct BodyFields<'a>(#[serde(borrow)] HashMap<String, &'a RawValue>);

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::{super::operation::path_parameter, *};
    use hyper_delay_protocol::{Request, TaskRequest, parse};

    fn schedule(body: &[u8]) -> Result<String, Problem> {
        let mut line = LineBuilder::new("schedule");
        line.add(path_parameter("route"), "a\"b");
        line.add_body(body, &["id", "route_key", "fire_at"])?;
        Ok(line.finish())
    }

    #[test]
    fn the_fields_of_the_body_follow_those_of_the_path() {
        let start = r#"{"kind":"schedule","route_key":"a\"b""#;
        for (body, rest) in [
            ("", "}"),
            (" \n", "}"),
            ("{}", "}"),
            (" { } ", "}"),
            ("{\"fire_at\":0}", ",\"fire_at\":0}"),
            ("\n{ \"fire_at\" : 0\n} ", ", \"fire_at\" : 0\n}"),
        ] {
            let line = schedule(body.as_bytes()).unwrap();
            assert_eq!(line, format!("{start}{rest}"), "{body:?}");
        }
        let line = schedule(b"{\"fire_at\":0,\"id\":\"}\"}").unwrap();
        let request = parse(line.as_bytes()).unwrap().request;
        let Request::Task(TaskRequest::Schedule(schedule)) = request else {
            panic!("{request:?}");
        };
        assert_eq!(schedule.id.as_deref(), Some("}"));
    }

    #[test]
    fn other_bodies_are_refused() {
        for (body, part) in [
            (&b"\xff"[..], "byte 1 of the body is not UTF-8"),
            (b"[]", "send one JSON object"),
            (b"1", "send one JSON object"),
            (b"{", "send one JSON object"),
            (b"{} {}", "send one JSON object"),
            (b"{\"fire_at\":}", "send one JSON object"),
            (b"{\"kind\":\"ack\"}", "kind is in the body"),
            (b"{\"\\u006bind\":\"ack\"}", "kind is in the body"),
            (b"{\"tag\":\"1\"}", "tag is in the body"),
            (b"{\"token\":\"x\"}", "Authorization: Bearer"),
            (b"{\"route_key\":\"c\"}", "route_key is in the body"),
            (b"{\"dry_run\":true}", "give id, route_key, fire_at"),
        ] {
            let problem = format!("{:?}", schedule(body).unwrap_err());
            assert!(problem.contains(part), "{problem}");
        }
        let twice = schedule(b"{\"fire_at\":0,\"fire_at\":1}").unwrap();
        assert!(parse(twice.as_bytes()).is_err(), "a field twice");
    }

    /// Keys of objects, some of them with escapes, and values.
    fn pieces() -> impl Strategy<Value = String> {
        let key = select(vec![
            "kind",
            "\\u006bind",
            "route_key",
            "route\\u005fkey",
            "id",
            "fire_at",
            "token",
            "tag",
            "x",
        ]);
        let value = select(vec![
            "0",
            "\"a\"",
            "\"cancel\"",
            "null",
            "{}",
            "[}",
            "{\"kind\":1}",
            "",
        ]);
        let pair = (key, value).prop_map(|(key, value)| format!("\"{key}\":{value}"));
        let joined = vec(pair, 0..4).prop_map(|pairs| format!("{{{}}}", pairs.join(",")));
        let other =
            select(vec!["}", "{", "}{", ",", "\"", "[]", "\n", "\0"]).prop_map(str::to_owned);
        let all = prop_oneof![3 => joined, 1 => other];
        vec(all, 1..3).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn no_body_changes_what_the_path_says(body in pieces()) {
            if let Ok(line) = schedule(body.as_bytes()) {
                let line: serde_json::Value = serde_json::from_str(&line).unwrap();
                prop_assert_eq!(&line["kind"], "schedule");
                prop_assert_eq!(&line["route_key"], "a\"b");
                prop_assert_eq!(&line["token"], &serde_json::Value::Null);
            }
        }
    }
}
