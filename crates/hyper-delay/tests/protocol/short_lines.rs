//! Lists of a server with the shortest lines: each makes progress.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, schedule},
};

use crate::server::Server;

/// Returns the entries of all pages. `next` is the field and the value that ask for the next page.
fn pages(
    peer: &mut Peer,
    (kind, list): (&str, &str),
    next: impl Fn(&Value) -> (&'static str, Value),
) -> Vec<Value> {
    let mut found = Vec::new();
    let mut request = json!({"kind": kind});
    loop {
        let reply = peer.ask(&request.to_string());
        let entries = reply[list].as_array().expect(list);
        assert!(!entries.is_empty(), "{reply}");
        found.extend_from_slice(entries);
        if reply["more"] != true {
            return found;
        }
        let (field, value) = next(&reply);
        request[field] = value;
    }
}

#[test]
fn a_list_has_an_entry_even_if_it_does_not_fit_into_a_line() {
    let server = Server::start(json!({"max_line_bytes": 1024, "max_attempts": 1}));
    let mut peer = server.consumer("a");
    let reasons = ["x".repeat(256), "y".repeat(256)];
    for (id, reason) in ["1", "2"].into_iter().zip(&reasons) {
        peer.send(schedule("a", id, 1));
        let delivery = peer.delivery();
        let mut nack: Value = serde_json::from_str(&echo("nack", &delivery)).expect("a nack");
        nack["reason"] = json!(reason);
        peer.send(nack.to_string());
        peer.stats_until("a", |stats| stats["dead"] == id.parse::<u64>().unwrap());
    }
    let after = |reply: &Value| ("after", reply["next"].clone());
    let counted = pages(&mut peer, ("reasons", "reasons"), after);
    let counted: Vec<_> = counted.iter().map(|row| row["reason"].clone()).collect();
    assert_eq!(counted, [json!(reasons[0]), json!(reasons[1])]);
    let listed = pages(&mut peer, ("list", "tasks"), after);
    assert_eq!(listed.len(), 2);

    let long = json!({"kind": "delete_all", "route_key": "a", "reason": "z".repeat(800)});
    for _ in 0..2 {
        assert_eq!(peer.ask(&long.to_string())["kind"], "job");
    }
    let before = |reply: &Value| {
        let lines = reply["lines"].as_array().expect("lines");
        ("before", lines.last().expect("a line")["number"].clone())
    };
    let begun = |peer: &mut Peer| {
        let lines = pages(peer, ("audit", "lines"), before);
        lines
            .iter()
            .filter(|line| line["act"] == "delete_all")
            .count()
    };
    assert_eq!(begun(&mut peer), 2);
    // There are no further pages of jobs.
    let jobs = peer.ask(r#"{"kind":"jobs"}"#);
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1), "{jobs}");
}
