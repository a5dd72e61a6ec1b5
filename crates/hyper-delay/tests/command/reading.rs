//! Lists that are empty, and options that make no sense together.

use serde_json::json;
use testkit::request::later;

use crate::process::{Server, alone};

const NONE_DEAD: &str =
    "there are no dead letters; --retrying counts tasks that wait for another attempt\n";

#[test]
fn an_empty_list_is_said_on_standard_error() {
    let server = Server::start(json!({}));
    for (line, note) in [
        (&["list"][..], "no task matches\n"),
        (&["list", "--json", "--limit", "1"], "no task matches\n"),
        (&["dead", "a"], "no dead letter matches\n"),
        (&["dead", "a", "--json"], "no dead letter matches\n"),
        (&["reasons"], NONE_DEAD),
        (&["reasons", "--json"], NONE_DEAD),
        (&["reasons", "--retrying"], "no task is retrying\n"),
        (&["jobs"], "there are no jobs\n"),
        (&["jobs", "--json"], "there are no jobs\n"),
        (&["audit"], "no operator has changed anything\n"),
        (&["audit", "--json"], "no operator has changed anything\n"),
        (&["future"], "no task is due in the next year\n"),
    ] {
        let ended = server.run(line);
        let shown = (ended.code, ended.stdout.as_str(), ended.stderr.as_str());
        assert_eq!(shown, (Some(0), "", note), "{line:?}");
    }
    let mut peer = server.running.peer();
    peer.plan("a", "1", later());
    assert_eq!(server.run(&["list"]).stderr, "", "it is not empty");
}

#[test]
fn a_limit_of_zero_is_refused_with_the_range() {
    for command in ["list", "audit"] {
        let refused = alone(&[command, "--limit", "0"]).failed(2);
        assert!(refused.contains("0 is not in 1.."), "{refused}");
    }
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    for (line, names) in [
        (
            &["dead", "a", "--kick", "1", "--reason", "x"][..],
            ["--kick", "--reason"],
        ),
        (
            &["dead", "a", "--kick", "1", "--from", "0"],
            ["--kick", "--from"],
        ),
        (
            &["dead", "a", "--delete", "1", "--until", "0"],
            ["--delete", "--until"],
        ),
        (
            &["dead", "a", "--delete", "1", "--reason", ""],
            ["--delete", "--reason"],
        ),
        (
            &["dead", "a", "--kick", "1", "--payload"],
            ["--kick", "--payload"],
        ),
        (
            &["dead", "a", "--delete-all", "--payload"],
            ["--delete-all", "--payload"],
        ),
        (
            &["dead", "a", "--kick-all", "--delete-all"],
            ["--kick-all", "--delete-all"],
        ),
        (
            &["dead", "a", "--kick-all", "--json"],
            ["--kick-all", "--json"],
        ),
        (&["dead", "a", "--yes"], ["--kick-all", "--delete-all"]),
        (
            &["dead", "a", "--kick", "1", "--yes"],
            ["--kick-all", "--delete-all"],
        ),
        (&["jobs", "--stop", "1", "--json"], ["--stop", "--json"]),
        (
            &["get", "a", "1", "--decompress"],
            ["--payload", "required"],
        ),
    ] {
        let refused = alone(line).failed(2);
        for name in names {
            assert!(refused.contains(name), "{line:?}: {refused}");
        }
    }
}
