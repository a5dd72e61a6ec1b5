//! `PROTOCOL.md` itself: its examples are valid, and its tables are complete.

use std::collections::{BTreeMap, BTreeSet};

use hyper_delay::protocol::{Code, RequestKind, parse};
use serde_json::Value;

const TEXT: &str = include_str!("../../PROTOCOL.md");

/// Every code of an error. The match makes a new code a compile error here.
fn codes() -> BTreeSet<&'static str> {
    use Code::*;
    for (place, code) in Code::ALL.into_iter().enumerate() {
        assert_eq!(code as usize, place, "{code:?}");
        match code {
            BadJson | BadUtf8 | BadBase64 | BadField | MissingField | UnknownKind | LineTooLong
            | TooLong | DuplicateId | DiskFull | Damaged | ShuttingDown | TooManyConnections
            | TooManyRoutes | Forbidden | Busy | TlsRequired | Quota | Unavailable | Dead => {}
        }
    }
    Code::ALL.iter().map(|code| code.as_str()).collect()
}

/// The lines of the protocol in the text: code spans, and code blocks with wrapped lines.
fn examples() -> Vec<String> {
    let mut found = Vec::new();
    for (index, block) in TEXT.split("```").enumerate() {
        let is_code = index % 2 == 1;
        if let Some(json) = block.strip_prefix("json\n").filter(|_| is_code) {
            found.push(json.replace('\n', ""));
        } else if !is_code {
            let spans = block.split('`').skip(1).step_by(2);
            found.extend(
                spans
                    .filter(|span| span.starts_with("{\""))
                    .map(String::from),
            );
        }
    }
    found
}

#[test]
fn every_example_is_one_line_of_the_protocol() {
    let mut kinds = BTreeSet::new();
    for example in examples() {
        let object: Value = serde_json::from_str(&example).expect(&example);
        let kind = object["kind"].as_str().expect(&example);
        kinds.insert(kind.to_owned());
        if parse(format!(r#"{{"kind":"{kind}"}}"#).as_bytes())
            .is_err_and(|refusal| refusal.code == Code::UnknownKind)
        {
            continue;
        }
        // Some kinds, such as `stats`, are of requests and of replies.
        assert!(parse(example.as_bytes()).is_ok(), "{example}");
    }
    for kind in [
        "auth",
        "authenticated",
        "hello",
        "register",
        "unregister",
        "ack",
        "nack",
        "touch",
        "touched",
        "schedule",
        "cancel",
        "run_now",
        "run_now_all",
        "reschedule_all",
        "reschedule",
        "moved",
        "ping",
        "stats",
        "dead",
        "get",
        "task",
        "list",
        "future",
        "delete",
        "deleted",
        "kick_all",
        "job",
        "count",
        "jobs",
        "stop",
        "stopped",
        "pause",
        "paused",
        "resume",
        "resumed",
        "reasons",
        "audit",
        "kick",
        "backup",
        "registered",
        "unregistered",
        "delivery",
        "acked",
        "scheduled",
        "cancelled",
        "pong",
        "kicked",
        "error",
    ] {
        assert!(kinds.contains(kind), "{kind} has no example");
    }
}

/// The names in a cell of a table.
fn names(cell: &str) -> BTreeSet<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_table_of_kinds_has_every_kind_with_its_fields() {
    let table = TEXT
        .split("| kind | fields |")
        .nth(1)
        .expect("a table of kinds");
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let mut written = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').collect();
        for kind in names(cells[1]) {
            let earlier = written.insert(kind, names(cells[2]));
            assert_eq!(earlier, None, "{kind} is there twice");
        }
    }
    let kinds = RequestKind::ALL.iter();
    let known = kinds.map(|kind| (kind.name(), kind.fields().collect()));
    assert_eq!(written, known.collect());
}

#[test]
fn the_table_of_errors_names_every_code() {
    let table = TEXT
        .split("| code | meaning |")
        .nth(1)
        .expect("a table of codes");
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let named: BTreeSet<_> = rows.map(|row| row.split('`').nth(1).expect(row)).collect();
    assert_eq!(named, codes());
}
