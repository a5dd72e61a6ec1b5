//! Checks that hold for any bytes of a client. The property tests and the fuzz target share them.

mod request;

use hyper_delay::protocol::{
    Delivery, Due, Line, Lines, Refusal, Reply, Request, Schedule, TaskRequest, parse, parse_strict,
};
use serde_json::Value;

pub(crate) use request::encode;

/// A limit longer than every line here, and one that some lines exceed.
const LIMITS: [usize; 2] = [65_536, 40];

/// Passes the bytes to the splitter and the parser, and asserts their contracts.
pub(crate) fn check(bytes: &[u8]) {
    for limit in LIMITS {
        let expected = model(limit, bytes);
        assert_eq!(split(limit, [bytes]), expected);
        let piece = bytes.len() % 13 + 1;
        assert_eq!(split(limit, bytes.chunks(piece)), expected);
    }
    for line in model(usize::MAX, bytes)
        .into_iter()
        .filter_map(|(_, line)| line)
    {
        let parsed = parse(&line);
        match parse_strict(&line) {
            Ok(strict) => assert_eq!(parsed, Ok(strict)),
            Err(refusal) => check_refusal(&refusal),
        }
        match parsed {
            Ok(line) => check_line(&line),
            Err(refusal) => check_refusal(&refusal),
        }
    }
}

/// A line and its number; `None` for a line that is too long.
pub(crate) type Numbered = (u64, Option<Vec<u8>>);

/// Splits the bytes of these pieces into lines.
pub(crate) fn split<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Numbered> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        lines.room().extend_from_slice(piece);
        while let Some(line) = lines.next() {
            let line = line.ok().map(<[u8]>::to_vec);
            found.push((lines.number(), line));
        }
    }
    found
}

/// The lines that `PROTOCOL.md` specifies, computed from all bytes at once.
fn model(limit: usize, bytes: &[u8]) -> Vec<Numbered> {
    let content = |line: &'_ [u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    let lines: Vec<_> = bytes
        .split(|byte| *byte == b'\n')
        .map(content)
        .zip(1..)
        .collect();
    let unended = lines.len() as u64;
    lines
        .into_iter()
        .filter(|(line, number)| !line.is_empty() && (*number < unended || line.len() > limit))
        .map(|(line, number)| (number, (line.len() <= limit).then_some(line)))
        .collect()
}

/// Encodes a line and parses it again, on a strict connection, too.
fn check_line(line: &Line) {
    let text = encode(line);
    assert_eq!(
        parse(&text).as_ref(),
        Ok(line),
        "{}",
        String::from_utf8_lossy(&text)
    );
    let is_refused = matches!(
        &line.request,
        Request::Task(TaskRequest::Register { route, .. }) if route.ends_with('*')
    );
    assert_eq!(
        parse_strict(&text).ok().as_ref(),
        Some(line).filter(|_| !is_refused)
    );
    if let Request::Task(TaskRequest::Schedule(schedule)) = &line.request {
        check_delivery(schedule);
    }
}

fn check_delivery(schedule: &Schedule) {
    let fire_at = match schedule.due {
        Due::At(fire_at) => fire_at,
        Due::After(_) => 5,
    };
    for attempt in [1, u32::MAX] {
        let delivery = Delivery {
            id: schedule.id.as_deref().unwrap_or("id"),
            route: schedule.route.as_deref().unwrap_or("route"),
            fire_at,
            due: Some(attempt.into()).filter(|due| *due != fire_at),
            compression: schedule.compression,
            payload: &schedule.payload,
            attempt,
            headers: schedule.headers.text(),
        };
        let mut out = Vec::new();
        delivery.encode(&mut out);
        let object = one_object(&out);
        assert_eq!(object["id"], delivery.id);
        assert_eq!(object["route_key"], delivery.route);
        let exact = attempt == u32::MAX;
        assert!(if exact {
            out.len() - 1 == delivery.longest()
        } else {
            out.len() <= delivery.longest()
        });

        // The fields of a delivery are valid in a schedule.
        let again = String::from_utf8(out).expect("it is JSON");
        let again = again.replacen("\"kind\":\"delivery\"", "\"kind\":\"schedule\"", 1);
        let again = parse(again.trim_end_matches('\n').as_bytes()).expect("it has every field");
        let Request::Task(TaskRequest::Schedule(again)) = again.request else {
            panic!("{again:?}")
        };
        assert_eq!(again.payload, schedule.payload);
        assert_eq!(again.headers, schedule.headers);
        assert_eq!(
            (again.due, again.compression),
            (Due::At(delivery.fire_at), schedule.compression)
        );
    }
}

fn check_refusal(refusal: &Refusal) {
    assert!(refusal.message.len() < 400, "{refusal}");
    let mut out = Vec::new();
    Reply::Error(refusal.clone()).encode(None, &mut out);
    let object = one_object(&out);
    assert_eq!(object["code"], refusal.code.as_str());
    assert_eq!(object["message"], refusal.message);
    assert_eq!(
        object.get("tag").and_then(Value::as_str),
        refusal.tag.as_deref()
    );
}

fn one_object(line: &[u8]) -> Value {
    let text = line.strip_suffix(b"\n").expect("a line ends");
    assert!(!text.contains(&b'\n'));
    serde_json::from_slice(text).expect("a line is JSON")
}
