use super::*;

#[test]
fn original_times_are_read_like_the_time_and_the_delay_of_a_schedule() {
    let read = |field: &str| {
        let line = format!(r#"{{"kind":"schedule","id":"a","route_key":"r","fire_at":1{field}}}"#);
        ImportedTask::read(line.as_bytes())
            .map(|task| (task.original.delay_ms, task.original.fire_at))
    };
    assert_eq!(read(""), Ok((None, None)));
    assert_eq!(read(r#","original_delay_ms":null"#), Ok((None, None)));
    assert_eq!(read(r#","original_delay_ms":5"#), Ok((Some(5), None)));
    assert_eq!(read(r#","original_fire_at":7"#), Ok((None, Some(7))));
    assert_eq!(
        read(r#","original_fire_at":"2024-11-26T11:20:00+01:00""#),
        Ok((None, Some(1_732_616_400_000)))
    );
    let latest = 1 << 53;
    assert_eq!(
        read(r#","original_delay_ms":9007199254740992,"original_fire_at":9007199254740992"#),
        Ok((Some(latest), Some(latest)))
    );
    let delay = "milliseconds from 0 to 2^53, as a whole number";
    let time =
        "Unix milliseconds from 0 to 2^53, as a whole number, or a time in RFC 3339 such as ";
    for (field, value, cure) in [
        ("original_delay_ms", "9007199254740993", delay),
        ("original_delay_ms", "\"5\"", delay),
        ("original_delay_ms", "-1", delay),
        ("original_fire_at", "9007199254740993", time),
        ("original_fire_at", "\"soon\"", time),
        ("original_fire_at", "1.5", time),
        ("original_fire_at", "{}", time),
    ] {
        let error = read(&format!(r#","{field}":{value}"#)).unwrap_err();
        let start = format!("{field} is {value}: give {cure}");
        assert!(error.starts_with(&start), "{error}");
    }
    let error = "original_fire_at is 1732616400: this looks like Unix seconds; multiply it by 1000 to \
                 give Unix milliseconds";
    assert_eq!(
        read(r#","original_fire_at":1732616400"#),
        Err(error.to_owned())
    );
}

#[test]
fn a_line_without_id_or_route_is_refused() {
    let why = |line: &str| ImportedTask::read(line.as_bytes()).unwrap_err();
    assert!(why(r#"{"kind":"schedule","id":"a","fire_at":1}"#).starts_with("route_key is "));
    assert!(why(r#"{"kind":"schedule","route_key":"r","fire_at":1}"#).starts_with("id is "));
    assert!(why(r#"{"kind":"ping"}"#).starts_with("it is no schedule"));
    assert!(why("").starts_with("the line is "));
}

#[test]
fn a_line_ends_at_its_end_or_with_the_input() {
    let mut input = &b"a\r\n\nb"[..];
    let mut lines = Vec::new();
    while let Some(line) = next(&mut input).unwrap() {
        lines.push(line);
    }
    assert_eq!(lines, [&b"a\r\n"[..], b"\n", b"b"]);
}
