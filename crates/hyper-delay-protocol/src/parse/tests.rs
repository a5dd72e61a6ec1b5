use super::*;
use crate::{
    Accept, AdminRequest, BulkAct, BulkMove, BulkMoveTo, BulkRequest, Code, Compression,
    DeliverySelector, Due, Filter, Headers, ListRequest, MoveTo, ReadRequest, RegisterMode,
    Schedule,
};

mod consumers;
mod operations;
mod schedule;
mod strict;
mod tokens;

fn request_of(line: &str) -> Request {
    parse(line.as_bytes())
        .unwrap_or_else(|refusal| panic!("{line}: {refusal}"))
        .request
}

fn task_of(line: &str) -> TaskRequest {
    match request_of(line) {
        Request::Task(request) => request,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal_of(line: impl AsRef<[u8]>) -> Refusal {
    parse(line.as_ref()).expect_err("the line is wrong")
}

/// Asserts that each of these values of a field is refused with a message that shows it and the
/// cure.
fn refused_values(before: &str, field: &str, values: &[&str], cure: &str) {
    for value in values {
        let refusal = refusal_of(format!("{{{before},\"{field}\":{value}}}"));
        assert_eq!(refusal.code, Code::BadField, "{refusal}");
        assert_eq!(refusal.message, format!("{field} is {value}: {cure}"));
    }
}

#[test]
fn a_hello_names_a_version_from_1() {
    for protocol in [1, 2, 3, 1 << 53] {
        let line = format!(r#"{{"kind":"hello","protocol":{protocol}}}"#);
        let hello = |strict| SessionRequest::Hello { protocol, strict }.into();
        assert_eq!(request_of(&line), hello(false));
        let line = line.replace('}', r#","strict":true}"#);
        assert_eq!(request_of(&line), hello(true));
    }
    refused_values(
        r#""kind":"hello""#,
        "protocol",
        &["0", "-1", "2.0", "\"2\"", "9007199254740993"],
        "give a protocol version from 1 to 2^53, as a whole number",
    );
}

#[test]
fn the_other_requests_are_parsed() {
    let (id, route) = (Arc::<str>::from("x"), Arc::<str>::from("r"));
    let after = Some(Arc::<str>::from("a"));
    let requests: [(&str, Request); 12] = [
        (r#""ping""#, TaskRequest::Ping.into()),
        (
            r#""unregister","route_key":"r""#,
            TaskRequest::Unregister {
                route: route.clone(),
            }
            .into(),
        ),
        (
            r#""cancel","route_key":"r","id":"x""#,
            TaskRequest::Cancel {
                route: route.clone(),
                id: id.clone(),
            }
            .into(),
        ),
        (
            r#""run_now","route_key":"r","id":"x","due":"ignored""#,
            TaskRequest::Move {
                route: route.clone(),
                id: id.clone(),
                to: MoveTo::Now,
            }
            .into(),
        ),
        (
            r#""reschedule","route_key":"r","id":"x","due":7"#,
            TaskRequest::Move {
                route: route.clone(),
                id: id.clone(),
                to: MoveTo::At(7),
            }
            .into(),
        ),
        (
            r#""kick","route_key":"r","id":"x""#,
            AdminRequest::Kick {
                route: route.clone(),
                id,
            }
            .into(),
        ),
        (r#""backup""#, ReadRequest::Backup { offset: 0 }.into()),
        (
            r#""backup","offset":48960"#,
            ReadRequest::Backup { offset: 48_960 }.into(),
        ),
        (
            r#""stats""#,
            ReadRequest::Stats {
                route: None,
                after: None,
            }
            .into(),
        ),
        (
            r#""stats","route_key":"r","after":"a""#,
            ReadRequest::Stats {
                route: Some(route.clone()),
                after: after.clone(),
            }
            .into(),
        ),
        (
            r#""dead","route_key":"r""#,
            ReadRequest::Dead {
                route: route.clone(),
                after: None,
                limit: 100,
                filter: Box::default(),
                payload: false,
            }
            .into(),
        ),
        (
            r#""dead","route_key":"r","after":"a","limit":1000,"reason":"","from":5,"until":6,"payload":true"#,
            ReadRequest::Dead {
                route,
                after,
                limit: 1_000,
                filter: Box::new(Filter {
                    reason: Some("".into()),
                    from: Some(5),
                    until: Some(6),
                }),
                payload: true,
            }
            .into(),
        ),
    ];
    for (line, request) in requests {
        assert_eq!(request_of(&format!("{{\"kind\":{line}}}")), request);
    }
    refused_values(
        r#""kind":"dead","route_key":"r""#,
        "limit",
        &["0", "1001"],
        "give a number from 1 to 1000, as a whole number",
    );
}

#[test]
fn missing_required_fields_are_refused() {
    for (line, field) in [
        (r#"{}"#, "kind"),
        (r#"{"kind":"hello"}"#, "protocol"),
        (r#"{"kind":"register"}"#, "route_key"),
        (r#"{"kind":"unregister"}"#, "route_key"),
        (r#"{"kind":"ack"}"#, "id"),
        (r#"{"kind":"nack","route_key":"r"}"#, "id"),
        (r#"{"kind":"cancel","id":"x"}"#, "route_key"),
        (r#"{"kind":"cancel","route_key":"r"}"#, "id"),
        (r#"{"kind":"kick","id":"x"}"#, "route_key"),
        (r#"{"kind":"kick","route_key":"r","id":null}"#, "id"),
        (r#"{"kind":"dead"}"#, "route_key"),
        (r#"{"kind":"get","id":"x"}"#, "route_key"),
        (r#"{"kind":"delete","route_key":"r"}"#, "id"),
        (r#"{"kind":"purge"}"#, "route_key"),
        (r#"{"kind":"kick_all"}"#, "route_key"),
        (r#"{"kind":"pause"}"#, "route_key"),
        (r#"{"kind":"stop"}"#, "job"),
    ] {
        let refusal = refusal_of(line);
        assert_eq!(refusal.code, Code::MissingField, "{line}");
        assert!(
            refusal
                .message
                .starts_with(&format!("{field} is missing: give ")),
            "{refusal}"
        );
    }
}

#[test]
fn names_are_1_to_128_bytes_long() {
    let id = |id: &str| parse(format!(r#"{{"kind":"ack","id":"{id}"}}"#).as_bytes());
    assert!(id(&"x".repeat(128)).is_ok());
    assert!(id(&"é".repeat(64)).is_ok());
    assert!(id("").is_err());
    let refusal = id(&"é".repeat(65)).expect_err("it has 130 bytes");
    assert_eq!(refusal.code, Code::BadField);
    assert_eq!(refusal.id, None, "the reply does not repeat it");
    let shown = "é".repeat(31);
    assert_eq!(
        refusal.message,
        format!("id is \"{shown}…, 130 bytes long: give a string of 1 to 128 bytes")
    );
    refused_values(
        r#""kind":"ack""#,
        "id",
        &["\"\"", "7", "[]"],
        "give a string of 1 to 128 bytes",
    );
}

#[test]
fn a_tag_may_be_empty_and_has_at_most_128_bytes() {
    let tag = |tag: &str| parse(format!(r#"{{"kind":"ping","tag":{tag}}}"#).as_bytes());
    assert_eq!(tag("\"\"").unwrap().tag.as_deref(), Some(""));
    assert_eq!(tag("null").unwrap().tag, None);
    let long = "x".repeat(128);
    assert_eq!(
        tag(&format!("\"{long}\"")).unwrap().tag.as_deref(),
        Some(&*long)
    );
    assert!(tag(&format!("\"{long}x\"")).is_err());
    assert!(tag("7").is_err());
}

#[test]
fn escapes_are_read_in_names_and_in_values() {
    let line = r#"{"\u006bind":"\u0061ck","id":"\ud83d\ude00\n\/"}"#;
    assert!(matches!(task_of(line), TaskRequest::Ack { delivery, .. } if &*delivery.id == "😀\n/"));
    let half = refusal_of(r#"{"kind":"ack","id":"\ud83d"}"#);
    assert_eq!(half.code, Code::BadField);
}

#[test]
fn a_reschedule_needs_a_due_time_as_a_schedule_does() {
    let missing = refusal_of(r#"{"kind":"reschedule","route_key":"r","id":"x"}"#);
    assert_eq!(missing.code, Code::MissingField);
    assert!(
        missing
            .message
            .contains("due is missing: give Unix milliseconds"),
        "{missing}"
    );
    refused_values(
        r#""kind":"reschedule","route_key":"r","id":"x""#,
        "due",
        &["1732616400"],
        "this looks like Unix seconds; multiply it by 1000 to give Unix milliseconds",
    );
}
