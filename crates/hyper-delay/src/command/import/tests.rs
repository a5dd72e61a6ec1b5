use super::*;

#[test]
fn original_times_are_read_and_have_no_other_kind() {
    let read = |field: &str| {
        let line = format!(r#"{{"kind":"schedule","id":"a","route_key":"r","fire_at":1{field}}}"#);
        ImportedTask::read(line.as_bytes())
            .map(|task| (task.original.delay_ms, task.original.fire_at))
    };
    assert_eq!(read(""), Ok((None, None)));
    assert_eq!(read(r#","original_delay_ms":null"#), Ok((None, None)));
    assert_eq!(read(r#","original_delay_ms":5"#), Ok((Some(5), None)));
    assert_eq!(read(r#","original_fire_at":7"#), Ok((None, Some(7))));
    assert!(read(r#","original_delay_ms":"5""#).is_err());
    assert!(read(r#","original_fire_at":"soon""#).is_err());
    for field in ["original_delay_ms", "original_fire_at"] {
        let value = |value: u64| read(&format!(r#","{field}":{value}"#));
        value(1 << 53).unwrap();
        let error = value((1 << 53) + 1).unwrap_err();
        let start = format!("{field} is 9007199254740993: give milliseconds from 0 to 2^53");
        assert!(error.starts_with(&start), "{error}");
    }
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
