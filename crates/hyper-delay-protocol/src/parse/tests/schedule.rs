//! The fields of a schedule.

use super::*;

#[test]
fn a_schedule_is_read_with_all_its_fields() {
    let line = r#"{"kind":"schedule","id":"order-17","route_key":"service-A","fire_at":1732616400000,"compression":"zstd","payload_base64":"aGVsbG8=","replace":true,"tag":"7"}"#;
    let Line { tag, request, .. } = parse(line.as_bytes()).unwrap();
    assert_eq!(tag.as_deref(), Some("7"));
    let schedule = Schedule {
        id: Some("order-17".into()),
        route: Some("service-A".into()),
        due: Due::At(1_732_616_400_000),
        compression: Compression::Zstd,
        payload: (*b"hello").into(),
        replace: true,
        headers: Headers::default(),
        terms: None,
    };
    assert_eq!(request, TaskRequest::Schedule(schedule).into());
}

#[test]
fn a_schedule_needs_only_its_time() {
    let schedule = Schedule {
        id: None,
        route: None,
        due: Due::At(5),
        compression: Compression::None,
        payload: Box::default(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    };
    assert_eq!(
        task_of(r#"{"kind":"schedule","fire_at":5}"#),
        TaskRequest::Schedule(schedule)
    );
    for nothing in ["", r#","fire_at":null,"delay_ms":null"#] {
        let refusal = refusal_of(format!(r#"{{"kind":"schedule","id":"x"{nothing}}}"#));
        assert_eq!(refusal.code, Code::MissingField);
        assert_eq!(refusal.id.as_deref(), Some("x"));
        assert_eq!(
            refusal.message,
            "fire_at is missing: give it in Unix milliseconds or RFC 3339, or delay_ms in \
             milliseconds from now"
        );
    }
}

#[test]
fn a_delay_stands_in_place_of_the_time() {
    for (value, delay) in [("0", 0), ("5000", 5_000), ("9007199254740992", 1 << 53)] {
        let request = task_of(&format!(r#"{{"kind":"schedule","delay_ms":{value}}}"#));
        assert!(
            matches!(request, TaskRequest::Schedule(Schedule { due, .. }) if due == Due::After(delay))
        );
    }
    refused_values(
        r#""kind":"schedule""#,
        "delay_ms",
        &["-5", "-0", "5.0", "9007199254740993", "\"5\"", "true"],
        "give milliseconds from 0 to 2^53, as a whole number",
    );
    for fields in [
        r#""fire_at":1,"delay_ms":5"#,
        r#""delay_ms":5,"fire_at":"1""#,
    ] {
        let refusal = refusal_of(format!(r#"{{"kind":"schedule","id":"x",{fields}}}"#));
        assert_eq!(refusal.code, Code::BadField);
        assert_eq!(refusal.id.as_deref(), Some("x"));
        let message = "delay_ms is 5: give it or fire_at, which is 1, but not both";
        assert_eq!(refusal.message, message);
    }
}

#[test]
fn a_time_or_a_delay_beyond_the_limit_is_refused_by_the_name_of_its_field() {
    let check = |due: Due| due.check(1_000, 50);
    assert_eq!(check(Due::At(1_050)), Ok(()));
    let message = "fire_at is 1051 (1970-01-01T00:00:01.051Z), more than max_delay_days ahead: give \
                   at most 1050 (1970-01-01T00:00:01.05Z)";
    assert_eq!(check(Due::At(1_051)), Err(message.to_owned()));
    assert_eq!(check(Due::After(50)), Ok(()));
    let message = "delay_ms is 51, more than max_delay_days ahead: give at most 50";
    assert_eq!(check(Due::After(51)), Err(message.to_owned()));
}

#[test]
fn an_expiry_is_not_compared_with_a_delay() {
    let line = r#"{"kind":"schedule","delay_ms":5000,"expires_at":5}"#;
    let TaskRequest::Schedule(schedule) = task_of(line) else {
        panic!()
    };
    assert_eq!(schedule.terms.unwrap().expires_at, Some(5));
}

#[test]
fn the_end_of_a_delay_counts_from_the_clock_and_saturates() {
    assert_eq!(Due::At(7).at(100), 7);
    assert_eq!(Due::After(7).at(100), 107);
    assert_eq!(Due::After(7).at(u64::MAX - 1), u64::MAX);
    assert_eq!(
        (Due::At(7).delay_ms(), Due::After(7).delay_ms()),
        (None, Some(7))
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
        let request = task_of(&format!(r#"{{"kind":"schedule","fire_at":{value}}}"#));
        assert!(
            matches!(request, TaskRequest::Schedule(Schedule { due, .. }) if due == Due::At(time))
        );
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
        "give Unix milliseconds from 0 to 2^53, as a whole number, or a time in RFC 3339 such as \
         \"2030-01-31T08:00:00Z\"",
    );
}

#[test]
fn a_time_may_be_in_rfc_3339() {
    let line = r#"{"kind":"schedule","fire_at":"2024-11-26T11:20:00.0001+01:00","expires_at":"2024-11-26T10:20:01z"}"#;
    let in_millis = r#"{"kind":"schedule","fire_at":1732616400001,"expires_at":1732616401000}"#;
    assert_eq!(task_of(line), task_of(in_millis));
    let escaped = r#"{"kind":"schedule","fire_at":"\u0032024-11-26T10:20:00Z"}"#;
    assert_eq!(
        task_of(escaped),
        task_of(r#"{"kind":"schedule","fire_at":1732616400000}"#)
    );
    for (value, cure) in [
        (
            "2024-11-26T10:20:00",
            "give its offset from UTC, too: Z, or one such as +01:00",
        ),
        (
            "2024-11-26T11:20:00+01:00[Europe/Berlin]",
            "leave out the zone in brackets: only the offset counts",
        ),
        (
            "1969-12-31T23:59:59Z",
            "give a time from 1970 on; 0 means now",
        ),
        (
            "9999-12-31T23:59:59Z",
            "give a time that exists, from 1970-01-01T00:00:00Z to 9999-12-30T22:00:00Z",
        ),
        (
            "2024-11-26",
            "give a time in RFC 3339 such as 2030-01-31T08:00:00Z, with at most 9 digits of a \
             fraction",
        ),
        (
            "1973-03-03T09:46:39.999Z",
            "give a time from 1973-03-03T09:46:40Z on, or 0 for now; the milliseconds of earlier \
             ones look like Unix seconds",
        ),
    ] {
        let value = format!("\"{value}\"");
        for (before, field) in [
            (r#""kind":"schedule""#, "fire_at"),
            (r#""kind":"schedule","fire_at":0"#, "expires_at"),
        ] {
            refused_values(before, field, &[&value], cure);
        }
    }
    let first = task_of(r#"{"kind":"schedule","fire_at":"1973-03-03T09:46:40Z"}"#);
    assert_eq!(
        first,
        task_of(r#"{"kind":"schedule","fire_at":100000000000}"#)
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
        let request = task_of(&format!(r#"{{"kind":"schedule","fire_at":{time}}}"#));
        assert!(
            matches!(request, TaskRequest::Schedule(Schedule { due, .. }) if due == Due::At(time))
        );
    }
}

#[test]
fn a_payload_is_base64() {
    let line = |payload: &str| {
        format!(r#"{{"kind":"schedule","id":"x","fire_at":1,"payload_base64":{payload}}}"#)
    };
    for payload in ["\"aGVsbG8/\"", "\"aGVsbG8\\/\""] {
        let TaskRequest::Schedule(schedule) = task_of(&line(payload)) else {
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
fn a_refused_time_in_rfc_3339_is_shown_as_it_was_written() {
    let (first, second) = ("\"2030-01-31T08:00:00+01:00\"", "\"2030-01-31T07:00:00Z\"");
    for (line, message) in [
        (
            format!(r#"{{"kind":"schedule","fire_at":{first},"expires_at":{second}}}"#),
            format!("expires_at is {second}: give a time after fire_at, which is {first}"),
        ),
        (
            format!(r#"{{"kind":"schedule","fire_at":{first},"expires_at":1}}"#),
            format!("expires_at is 1: give a time after fire_at, which is {first}"),
        ),
        (
            format!(r#"{{"kind":"schedule","fire_at":{first},"delay_ms":5}}"#),
            format!("delay_ms is 5: give it or fire_at, which is {first}, but not both"),
        ),
        (
            format!(r#"{{"kind":"list","from":{first},"until":{second}}}"#),
            format!("until is {second}: give a time after from, which is {first}"),
        ),
    ] {
        assert_eq!(refusal_of(line).message, message);
    }
}
