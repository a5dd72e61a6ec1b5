//! Requests of consumers.

use super::*;

#[test]
fn an_ack_may_name_its_delivery_exactly() {
    let named = |route: Option<&str>, attempt| DeliverySelector {
        id: "x".into(),
        route: route.map(Arc::from),
        attempt,
    };
    let bare = TaskRequest::Ack {
        delivery: named(None, None),
        confirm: false,
    };
    assert_eq!(task_of(r#"{"kind":"ack","id":"x"}"#), bare);
    let full = TaskRequest::Ack {
        delivery: named(Some("r"), Some(u32::MAX)),
        confirm: true,
    };
    let line = r#"{"kind":"ack","id":"x","route_key":"r","attempt":4294967295,"confirm":true}"#;
    assert_eq!(task_of(line), full);
    let back = TaskRequest::Nack {
        delivery: named(Some("r"), None),
        delay_ms: Some(0),
        reason: Some("no disk".into()),
        failed: true,
    };
    assert_eq!(
        task_of(r#"{"kind":"nack","id":"x","route_key":"r","delay_ms":0,"reason":"no disk"}"#),
        back
    );
    let without = TaskRequest::Nack {
        delivery: named(None, None),
        delay_ms: None,
        reason: None,
        failed: true,
    };
    let line = r#"{"kind":"nack","id":"x","reason":""}"#;
    assert_eq!(task_of(line), without);
    for (failed, expected) in [("true", true), ("false", false), ("null", true)] {
        let line = format!(r#"{{"kind":"nack","id":"x","failed":{failed}}}"#);
        let TaskRequest::Nack { failed, .. } = task_of(&line) else {
            panic!("{line} is no nack");
        };
        assert_eq!(failed, expected, "{line}");
    }
    let touch = TaskRequest::Touch {
        delivery: named(None, Some(2)),
        extend_ms: Some(86_400_000),
    };
    let line = r#"{"kind":"touch","id":"x","attempt":2,"extend_ms":86400000}"#;
    assert_eq!(task_of(line), touch);
    refused_values(
        r#""kind":"touch","id":"x""#,
        "extend_ms",
        &["0", "86400001", "\"5\""],
        "give milliseconds from 1 to 86400000, as a whole number",
    );
    for length in [256, 257] {
        let reason = "x".repeat(length);
        let line = format!(r#"{{"kind":"nack","id":"x","reason":"{reason}"}}"#);
        let refusal = parse(line.as_bytes()).err();
        let message = refusal.map(|refusal| refusal.message).unwrap_or_default();
        let is_refused = message.ends_with("…: give a string of at most 256 bytes");
        assert_eq!(is_refused, length == 257, "{message}");
    }
}

#[test]
fn a_registration_is_shared_by_default() {
    let register = |credit, mode| TaskRequest::Register {
        route: "r".into(),
        credit,
        mode,
        accept: None,
    };
    let shared = register(None, RegisterMode::Shared);
    assert_eq!(task_of(r#"{"kind":"register","route_key":"r"}"#), shared);
    assert_eq!(
        task_of(r#"{"kind":"register","route_key":"r","mode":"shared"}"#),
        shared
    );
    let line = r#"{"kind":"register","route_key":"r","mode":"exclusive","credit":65535}"#;
    assert_eq!(
        task_of(line),
        register(Some(65_535), RegisterMode::Exclusive)
    );
    let before = r#""kind":"register","route_key":"r""#;
    refused_values(
        before,
        "credit",
        &["0", "65536", "-1", "\"5\""],
        "give deliveries from 1 to 65535, as a whole number",
    );
    refused_values(
        before,
        "mode",
        &["\"Shared\"", "\"\"", "1"],
        "give \"shared\" or \"exclusive\"",
    );
}

#[test]
fn a_registration_names_the_compressions_that_it_accepts() {
    for (listed, accepted) in [
        (r#"["none"]"#, &[Compression::None][..]),
        (r#"["lz4"]"#, &[Compression::Lz4]),
        (r#"["zs\u0074d","none"]"#, &[Compression::Zstd]),
        (
            r#"["zstd","lz4","zstd"]"#,
            &[Compression::Lz4, Compression::Zstd],
        ),
    ] {
        let line = format!(r#"{{"kind":"register","route_key":"r","accept":{listed}}}"#);
        let TaskRequest::Register { accept, .. } = task_of(&line) else {
            panic!("{line}");
        };
        assert_eq!(accept, Some(Accept::only(accepted)), "{line}");
    }
    refused_values(
        r#""kind":"register","route_key":"r""#,
        "accept",
        &["[]", "\"none\"", "[\"gzip\"]", "[1]", "[[\"lz4\"]]", "{}"],
        "give a list with one or more of [\"none\", \"lz4\", \"zstd\"]",
    );
}
