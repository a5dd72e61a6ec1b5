//! Tests of refused lines and of lines that are parsed nevertheless.

use crate::{Code, Refusal, Request, TaskRequest, parse};

fn request_of(line: &str) -> Request {
    parse(line.as_bytes()).expect(line).request
}

fn refusal_of(line: impl AsRef<[u8]>) -> Refusal {
    parse(line.as_ref()).expect_err("the line is wrong")
}

#[test]
fn null_is_absent() {
    let line = r#"{"kind":"schedule","id":null,"route_key":null,"fire_at":1,"compression":null,"payload_base64":null,"replace":null,"tag":null}"#;
    assert_eq!(
        request_of(line),
        request_of(r#"{"kind":"schedule","fire_at":1}"#)
    );
}

#[test]
fn unknown_fields_are_ignored() {
    let line =
        r#"{"kind":"ping","new":{"a":[1,"\ud83d",{}]},"new":1,"id":7,"limit":"x","fire_at":-5}"#;
    assert_eq!(request_of(line), TaskRequest::Ping.into());
}

#[test]
fn deep_nesting_is_ignored_or_refused_without_recursion() {
    let deep = |depth, field: &str| {
        let (open, close) = ("[{\"a\":".repeat(depth), "}]".repeat(depth));
        format!("{{\"kind\":\"ack\",\"id\":\"x\",\"{field}\":{open}1{close}}}")
    };
    assert!(parse(deep(100_000, "new").as_bytes()).is_ok());
    assert_eq!(refusal_of(deep(100_000, "attempt")).code, Code::BadField);
    assert_eq!(refusal_of("[".repeat(1_000_000)).code, Code::BadJson);
    assert_eq!(refusal_of("{\"a\":".repeat(1_000_000)).code, Code::BadJson);
}

#[test]
fn a_known_field_must_be_unique() {
    for line in [
        r#"{"kind":"ping","kind":"ping"}"#,
        r#"{"kind":"ack","id":"x","id":null}"#,
        r#"{"kind":"ack","id":"x","\u0069d":"y"}"#,
    ] {
        let refusal = refusal_of(line);
        assert_eq!(refusal.code, Code::BadJson, "{refusal}");
        assert!(refusal.message.contains("duplicate field"), "{refusal}");
    }
}

#[test]
fn a_line_is_one_json_object() {
    for line in [
        "",
        " ",
        "x",
        "7",
        "null",
        "[]",
        r#"["ping"]"#,
        r#""ping""#,
        "{",
        r#"{"kind":"ping""#,
        r#"{"kind":"ping"}}"#,
        r#"{"kind":"ping"} {}"#,
        r#"{"kind":"ping",}"#,
        r#"{kind:"ping"}"#,
        "{'kind':'ping'}",
        r#"{"a":01}"#,
        "{\"a\":\"\t\"}",
        "\u{feff}{}",
    ] {
        let refusal = refusal_of(line);
        assert_eq!(refusal.code, Code::BadJson, "{line}: {refusal}");
        assert!(
            refusal
                .message
                .ends_with("send one JSON object on one line"),
            "{refusal}"
        );
    }
    assert_eq!(
        request_of(" \t{ \"kind\" : \"ping\" } \r"),
        TaskRequest::Ping.into()
    );
}

#[test]
fn a_line_must_be_utf_8() {
    let refusal = refusal_of(b"{\"kind\":\"ping\",\"new\":\"\xff\"}");
    assert_eq!(refusal.code, Code::BadUtf8);
    assert_eq!(
        refusal.message,
        "byte 23 of the line is not UTF-8: send the text in UTF-8"
    );
}

#[test]
fn an_unknown_request_is_named_with_the_known_ones() {
    let refusal = refusal_of(r#"{"kind":"shedule","id":"x"}"#);
    assert_eq!(refusal.code, Code::UnknownKind);
    assert_eq!(
        refusal.message,
        "kind is \"shedule\": give auth, hello, register, unregister, schedule, ack, nack, touch, cancel, run_now, reschedule, ping, stats, get, list, future, dead, reasons, kick, delete, kick_all, delete_all, purge, run_now_all, reschedule_all, pause, resume, jobs, stop, audit or backup"
    );
    assert_eq!(refusal_of(r#"{"kind":7}"#).code, Code::BadField);
    assert_eq!(refusal_of(r#"{"kind":""}"#).code, Code::UnknownKind);
}

#[test]
fn a_refusal_has_the_names_that_can_be_read() {
    let refusal = refusal_of(r#"{"tag":"t","kind":"cancel","id":7,"route_key":"r"}"#);
    assert_eq!(refusal.tag.as_deref(), Some("t"));
    assert_eq!(refusal.route.as_deref(), Some("r"));
    assert_eq!(refusal.id, None);
    let refusal = refusal_of(r#"{"tag":7,"kind":"cancel","id":"x","route_key":""}"#);
    assert_eq!(
        refusal.message,
        "tag is 7: give a string of at most 128 bytes"
    );
    assert_eq!(refusal.id.as_deref(), Some("x"));
    assert_eq!((refusal.route, refusal.tag), (None, None));
}

#[test]
fn only_a_line_that_cannot_be_read_is_named_by_its_number() {
    for (line, number) in [
        (&b"nonsense"[..], Some(7)),
        (b"\xff", Some(7)),
        (br#"{"kind":"fly"}"#, None),
        (br#"{"kind":"ping","tag":7}"#, None),
    ] {
        let refusal = refusal_of(line).at_line(7);
        assert_eq!(refusal.line, number, "{refusal}");
    }
    let too_long = Refusal::new(Code::LineTooLong, "m").at_line(7);
    assert_eq!(too_long.line, Some(7));
}

#[test]
fn long_values_are_clipped_in_messages() {
    for line in [
        format!(
            r#"{{"kind":"schedule","fire_at":"{}"}}"#,
            "9".repeat(10_000)
        ),
        format!(r#"{{"kind":"{}"}}"#, "é".repeat(10_000)),
        "é".repeat(10_000),
    ] {
        let refusal = refusal_of(line);
        assert!(refusal.message.len() < 400, "{refusal}");
        assert!(refusal.message.contains('…'), "{refusal}");
    }
}
