//! Lines of strict connections, and the table of the fields of each kind.

use std::collections::BTreeSet;

use super::*;
use crate::{RequestKind, field_name::FieldName};

fn strict(line: &str) -> Result<Line, Refusal> {
    parse_strict(line.as_bytes())
}

/// A line of each kind with the fields that it needs, and valid values for them.
fn shortest_lines() -> Vec<serde_json::Map<String, serde_json::Value>> {
    let needed = |kind: &str| match kind {
        "auth" => r#","token":"x""#,
        "hello" => r#","protocol":2"#,
        "register" | "unregister" | "dead" | "kick_all" | "delete_all" | "purge"
        | "run_now_all" | "pause" | "resume" => r#","route_key":"r""#,
        "reschedule_all" => r#","route_key":"r","due":1"#,
        "schedule" => r#","fire_at":1"#,
        "ack" | "nack" | "touch" => r#","id":"x""#,
        "cancel" | "run_now" | "get" | "kick" | "delete" => r#","route_key":"r","id":"x""#,
        "reschedule" => r#","route_key":"r","id":"x","due":1"#,
        "stop" => r#","job":1"#,
        _ => "",
    };
    let line = |kind: &str| format!(r#"{{"kind":"{kind}"{}}}"#, needed(kind));
    let kinds = RequestKind::ALL.iter().map(RequestKind::name);
    kinds
        .map(|kind| serde_json::from_str(&line(kind)).unwrap())
        .collect()
}

#[test]
fn the_table_has_exactly_the_fields_that_are_read() {
    for line in shortest_lines() {
        let kind = line["kind"].as_str().unwrap();
        assert_eq!(
            parse(serde_json::to_string(&line).unwrap().as_bytes()).err(),
            None
        );
        let mut read = BTreeSet::new();
        for field in FieldName::ALL.iter().map(|field| field.as_str()) {
            let mut line = line.clone();
            // A value that no field can have.
            line.insert(field.to_owned(), serde_json::json!([{}]));
            if parse(serde_json::to_string(&line).unwrap().as_bytes()).is_err() {
                read.insert(field);
            }
        }
        let written = RequestKind::named(kind).unwrap().fields();
        let written: BTreeSet<_> = written.chain(["kind", "tag"]).collect();
        assert_eq!(read, written, "{kind}");
    }
}

#[test]
fn a_strict_line_may_have_the_fields_of_its_kind_only() {
    for line in shortest_lines() {
        let kind = line["kind"].as_str().unwrap();
        let fields: Vec<_> = RequestKind::named(kind).unwrap().fields().collect();
        for field in FieldName::ALL.iter().map(|field| field.as_str()) {
            let mut line = line.clone();
            line.entry(field).or_insert(serde_json::Value::Null);
            let text = serde_json::to_string(&line).unwrap();
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
            if fields.contains(&field) || matches!(field, "kind" | "tag") {
                assert!(strict(&text).is_ok(), "{text}");
            } else {
                let refusal = strict(&text).expect_err(&text);
                assert_eq!(refusal.code, Code::BadField);
                let start = format!("{kind} has no field \"{field}\": give only ");
                assert!(refusal.message.starts_with(&start), "{refusal}");
            }
        }
    }
}

#[test]
fn an_unknown_field_of_a_strict_line_is_named_with_the_fields_of_the_kind() {
    for (line, message) in [
        (
            r#"{"kind":"ack","id":"x","tag":"t","confrim":true}"#,
            "ack has no field \"confrim\": give only id, route_key, attempt, confirm, tag",
        ),
        (
            r#"{"confrim":null,"tag":"t","kind":"ack","id":"x"}"#,
            "ack has no field \"confrim\": give only id, route_key, attempt, confirm, tag",
        ),
        (
            r#"{"kind":"ping","first\n":{"second":1},"third":2,"tag":"t","id":"x"}"#,
            "ping has no field \"first\\n\": give only tag",
        ),
        (
            r#"{"kind":"touch","tag":"t","id":"x","delay_ms":5}"#,
            "touch has no field \"delay_ms\": give only id, route_key, attempt, extend_ms, tag",
        ),
        // The name of a field is a better hint than what else is wrong.
        (
            r#"{"kind":"stop","tag":"t","id":"x","jobs":1}"#,
            "stop has no field \"jobs\": give only job, tag",
        ),
    ] {
        let refusal = strict(line).expect_err(line);
        assert_eq!(refusal.code, Code::BadField, "{refusal}");
        assert_eq!(refusal.message, message);
        assert_eq!(refusal.id.as_deref(), Some("x"));
        assert_eq!(refusal.tag.as_deref(), Some("t"));
    }
    let long = format!(r#"{{"kind":"ping","{}":1}}"#, "é".repeat(200));
    let refusal = strict(&long).expect_err("it is unknown");
    assert!(refusal.message.len() < 150, "{refusal}");
}

#[test]
fn a_strict_line_is_refused_for_what_refuses_others() {
    for line in [
        r#"{"kind":"fly","wings":2}"#,
        r#"{"kind":"ack"}"#,
        r#"{"kind":"ack","id":"x","id":"y"}"#,
        r#"{"kind":"ack","id":"x"} {}"#,
        r#"{"wings":2}"#,
        r#"[]"#,
    ] {
        let refusal = strict(line).expect_err(line);
        assert_eq!(refusal, refusal_of(line));
    }
}

#[test]
fn a_strict_line_registers_no_route_that_looks_like_a_prefix() {
    for route in ["mail*", "*"] {
        let line = format!(r#"{{"kind":"register","route_key":"{route}"}}"#);
        assert!(matches!(task_of(&line), TaskRequest::Register { route: of, .. } if *of == *route));
        let refusal = strict(&line).expect_err(route);
        assert_eq!(refusal.code, Code::BadField);
        assert_eq!(
            refusal.message,
            format!(
                "route_key is \"{route}\": * is a prefix only in tokens and in the configuration; \
                 register each route by its whole name"
            )
        );
        assert_eq!(refusal.route.as_deref(), Some(route));
    }
    assert!(strict(r#"{"kind":"register","route_key":"m*il"}"#).is_ok());
    assert!(strict(r#"{"kind":"unregister","route_key":"mail*"}"#).is_ok());
}

#[test]
fn a_strict_list_takes_a_reason_with_the_state_retrying_only() {
    let line = |state: &str| format!(r#"{{"kind":"list","reason":"x"{state}}}"#);
    for state in ["", r#","state":"waiting""#, r#","state":"dead""#] {
        let refusal = strict(&line(state)).unwrap_err();
        assert_eq!(refusal.code, Code::BadField);
        assert_eq!(
            refusal.message,
            "reason is \"x\": give it with the state \"retrying\"; `dead` lists dead letters by reason"
        );
        parse(line(state).as_bytes()).unwrap();
    }
    strict(&line(r#","state":"retrying""#)).unwrap();
}
