use super::*;

mod operations;

fn request_of(line: &str) -> Request {
    parse(line.as_bytes())
        .unwrap_or_else(|refusal| panic!("{line}: {refusal}"))
        .request
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
fn a_schedule_is_read_with_all_its_fields() {
    let line = r#"{"kind":"schedule","id":"order-17","route_key":"service-A","fire_at":1732616400000,"compression":"zstd","payload_base64":"aGVsbG8=","replace":true,"tag":"7"}"#;
    let Line { tag, request, .. } = parse(line.as_bytes()).unwrap();
    assert_eq!(tag.as_deref(), Some("7"));
    let schedule = Schedule {
        id: Some("order-17".into()),
        route: Some("service-A".into()),
        fire_at: 1_732_616_400_000,
        compression: Compression::Zstd,
        payload: (*b"hello").into(),
        replace: true,
        headers: Headers::default(),
        terms: None,
    };
    assert_eq!(request, Request::Schedule(schedule));
}

#[test]
fn a_schedule_needs_only_its_time() {
    let schedule = Schedule {
        id: None,
        route: None,
        fire_at: 5,
        compression: Compression::None,
        payload: Box::default(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    };
    assert_eq!(
        request_of(r#"{"kind":"schedule","fire_at":5}"#),
        Request::Schedule(schedule)
    );
    let refusal = refusal_of(r#"{"kind":"schedule"}"#);
    assert_eq!(refusal.code, Code::MissingField);
    assert_eq!(
        refusal.message,
        "fire_at is missing: give Unix milliseconds"
    );
}

#[test]
fn a_time_is_a_whole_number_or_its_digits_in_a_string() {
    for (value, time) in [
        ("0", 0),
        ("\"0\"", 0),
        ("\"1732616400000\"", 1_732_616_400_000),
        ("\"\\u0031\"", 1),
        ("9007199254740992", 1 << 53),
    ] {
        let request = request_of(&format!(r#"{{"kind":"schedule","fire_at":{value}}}"#));
        assert!(matches!(request, Request::Schedule(Schedule { fire_at, .. }) if fire_at == time));
    }
    refused_values(
        r#""kind":"schedule""#,
        "fire_at",
        &[
            "-5",
            "-0",
            "1e3",
            "5.0",
            "5.5",
            "9007199254740993",
            "99999999999999999999",
            "\"\"",
            "\"+5\"",
            "\" 5\"",
            "\"-5\"",
            "\"5.0\"",
            "\"soon\"",
            "true",
            "[5]",
            "{}",
        ],
        "give Unix milliseconds from 0 to 2^53, as a whole number",
    );
}

#[test]
fn unix_seconds_are_refused_with_the_cure() {
    for value in ["100000000", "1732616400", "99999999999"] {
        for shown in [value.to_owned(), format!("\"{value}\"")] {
            let refusal = refusal_of(format!(
                r#"{{"kind":"schedule","id":"x","fire_at":{shown}}}"#
            ));
            assert_eq!(refusal.code, Code::BadField, "{refusal}");
            assert_eq!(refusal.id.as_deref(), Some("x"));
            assert_eq!(
                refusal.message,
                format!(
                    "fire_at is {value}: this looks like Unix seconds; multiply it by 1000 to give Unix milliseconds"
                )
            );
        }
    }
    for time in [0, 1, 99_999_999, 100_000_000_000] {
        let request = request_of(&format!(r#"{{"kind":"schedule","fire_at":{time}}}"#));
        assert!(matches!(request, Request::Schedule(Schedule { fire_at, .. }) if fire_at == time));
    }
}

#[test]
fn a_hello_names_a_version_from_1() {
    for protocol in [1, 2, 3, 1 << 53] {
        let line = format!(r#"{{"kind":"hello","protocol":{protocol}}}"#);
        assert_eq!(request_of(&line), Request::Hello { protocol });
    }
    refused_values(
        r#""kind":"hello""#,
        "protocol",
        &["0", "-1", "2.0", "\"2\"", "9007199254740993"],
        "give a protocol version from 1 to 2^53, as a whole number",
    );
}

#[test]
fn an_ack_may_name_its_delivery_exactly() {
    let named = |route: Option<&str>, attempt| Named {
        id: "x".into(),
        route: route.map(Arc::from),
        attempt,
    };
    let bare = Request::Ack {
        delivery: named(None, None),
        confirm: false,
    };
    assert_eq!(request_of(r#"{"kind":"ack","id":"x"}"#), bare);
    let full = Request::Ack {
        delivery: named(Some("r"), Some(u32::MAX)),
        confirm: true,
    };
    let line = r#"{"kind":"ack","id":"x","route_key":"r","attempt":4294967295,"confirm":true}"#;
    assert_eq!(request_of(line), full);
    let back = Request::Nack {
        delivery: named(Some("r"), None),
        delay_ms: Some(0),
        reason: Some("no disk".into()),
    };
    assert_eq!(
        request_of(r#"{"kind":"nack","id":"x","route_key":"r","delay_ms":0,"reason":"no disk"}"#),
        back
    );
    let without = Request::Nack {
        delivery: named(None, None),
        delay_ms: None,
        reason: None,
    };
    let line = r#"{"kind":"nack","id":"x","reason":""}"#;
    assert_eq!(request_of(line), without);
    let touch = Request::Touch {
        delivery: named(None, Some(2)),
        extend_ms: Some(86_400_000),
    };
    let line = r#"{"kind":"touch","id":"x","attempt":2,"extend_ms":86400000}"#;
    assert_eq!(request_of(line), touch);
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
    let register = |credit, mode| Request::Register {
        route: "r".into(),
        credit,
        mode,
        accept: None,
    };
    let shared = register(None, Mode::Shared);
    assert_eq!(request_of(r#"{"kind":"register","route_key":"r"}"#), shared);
    assert_eq!(
        request_of(r#"{"kind":"register","route_key":"r","mode":"shared"}"#),
        shared
    );
    let line = r#"{"kind":"register","route_key":"r","mode":"exclusive","credit":65535}"#;
    assert_eq!(request_of(line), register(Some(65_535), Mode::Exclusive));
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
        let Request::Register { accept, .. } = request_of(&line) else {
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

#[test]
fn the_other_requests_are_parsed() {
    let (id, route) = (Arc::<str>::from("x"), Arc::<str>::from("r"));
    let after = Some(Arc::<str>::from("a"));
    for (line, request) in [
        (r#""ping""#, Request::Ping),
        (
            r#""unregister","route_key":"r""#,
            Request::Unregister {
                route: route.clone(),
            },
        ),
        (
            r#""cancel","route_key":"r","id":"x""#,
            Request::Cancel {
                route: route.clone(),
                id: id.clone(),
            },
        ),
        (
            r#""kick","route_key":"r","id":"x""#,
            Request::Kick {
                route: route.clone(),
                id,
            },
        ),
        (r#""backup""#, Request::Backup { offset: 0 }),
        (
            r#""backup","offset":48960"#,
            Request::Backup { offset: 48_960 },
        ),
        (
            r#""stats""#,
            Request::Stats {
                route: None,
                after: None,
            },
        ),
        (
            r#""stats","route_key":"r","after":"a""#,
            Request::Stats {
                route: Some(route.clone()),
                after: after.clone(),
            },
        ),
        (
            r#""dead","route_key":"r""#,
            Request::Dead {
                route: route.clone(),
                after: None,
                limit: 100,
                filter: Filter::default(),
                payload: false,
            },
        ),
        (
            r#""dead","route_key":"r","after":"a","limit":1000,"reason":"","from":5,"until":6,"payload":true"#,
            Request::Dead {
                route,
                after,
                limit: 1_000,
                filter: Filter {
                    reason: Some("".into()),
                    from: Some(5),
                    until: Some(6),
                },
                payload: true,
            },
        ),
    ] {
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
    assert!(matches!(request_of(line), Request::Ack { delivery, .. } if &*delivery.id == "😀\n/"));
    let half = refusal_of(r#"{"kind":"ack","id":"\ud83d"}"#);
    assert_eq!(half.code, Code::BadField);
}

#[test]
fn a_payload_is_base64() {
    let line = |payload: &str| {
        format!(r#"{{"kind":"schedule","id":"x","fire_at":1,"payload_base64":{payload}}}"#)
    };
    for payload in ["\"aGVsbG8/\"", "\"aGVsbG8\\/\""] {
        let Request::Schedule(schedule) = request_of(&line(payload)) else {
            panic!()
        };
        assert_eq!(*schedule.payload, *b"hello?");
    }
    let refusal = refusal_of(line("\"a-b_\""));
    assert_eq!(refusal.code, Code::BadBase64);
    assert_eq!(refusal.id.as_deref(), Some("x"));
    assert!(
        refusal
            .message
            .starts_with("payload_base64 is a string of 4 bytes, which has "),
        "{refusal}"
    );
    assert!(
        refusal
            .message
            .ends_with(": give base64 with the standard alphabet"),
        "{refusal}"
    );
    assert_eq!(refusal_of(line("7")).code, Code::BadField);
}

#[test]
fn no_payload_is_in_an_error() {
    for payload in [
        "\"c2VjcmV0!\"",
        "\"c2VjcmV0X\"",
        "[\"c2VjcmV0\"]",
        "{\"c2VjcmV0\":1}",
    ] {
        let line = format!(r#"{{"kind":"schedule","fire_at":1,"payload_base64":{payload}}}"#);
        let refusal = refusal_of(line);
        assert!(!refusal.message.contains("c2VjcmV0"), "{refusal}");
    }
}

#[test]
fn tokens_are_read_where_they_count() {
    let token = crate::access::Secret::random().unwrap().reveal();
    let read = |line: &str| parse(line.replace("TOKEN", &token).as_bytes()).unwrap();
    for line in [
        r#"{"kind":"auth","token":"TOKEN"}"#,
        r#"{"kind":"register","route_key":"a","token":"TOKEN"}"#,
        r#"{"kind":"schedule","fire_at":0,"token":"TOKEN"}"#,
    ] {
        let read = read(line).token.unwrap();
        assert_eq!(read.secret().unwrap().reveal(), token, "{line}");
    }
    let other = read(r#"{"kind":"cancel","route_key":"a","id":"1","token":"TOKEN"}"#);
    assert_eq!(other.token, None);
    // Whether it is well-formed is decided with whether it is right.
    let malformed = read(r#"{"kind":"auth","token":"TOKEN?"}"#);
    assert_eq!(malformed.token.unwrap().secret(), None);
}

#[test]
fn tokens_are_never_in_an_error() {
    let missing = refusal_of(r#"{"kind":"auth"}"#);
    assert_eq!(missing.code, Code::MissingField);
    assert_eq!(missing.message, "token is missing: give a token");
    for line in [
        r#"{"kind":"auth","token":4711}"#,
        r#"{"kind":"auth","token":["4711"]}"#,
        r#"{"kind":"schedule","fire_at":0,"token":{"a":4711}}"#,
    ] {
        let refusal = refusal_of(line);
        assert_eq!(refusal.code, Code::BadField);
        assert_eq!(
            refusal.message, "token is not a string: give a token",
            "{line}"
        );
    }
}
