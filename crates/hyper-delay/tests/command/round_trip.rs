use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    time::Instant,
};

use serde_json::{Value, json};
use testkit::{
    PATIENCE,
    process::{lines, run, wait},
};

use crate::process::Server;

#[track_caller]
fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn listen_prints_and_removes_a_scheduled_task() {
    let server = Server::start(json!({}));
    let receipt = server
        .run(&["schedule", "hello", "--route", "a", "--id", "one"])
        .done();
    assert!(receipt == "one on a is scheduled now\n", "{receipt}");
    let heard = server.run(&["listen", "a", "--count", "1"]).done();
    assert!(heard.starts_with("a one attempt 1, "), "{heard}");
    assert!(heard.ends_with(" late: hello\n"), "{heard}");
    let stats = json(&server.run(&["stats", "--json"]).done());
    assert_eq!(
        (&stats["waiting"], &stats["parked"], &stats["dead"]),
        (&0.into(), &0.into(), &0.into()),
        "{stats}"
    );
}

#[test]
fn the_lateness_of_a_past_time_counts_from_the_schedule() {
    let server = Server::start(json!({}));
    for at in ["0", "1000"] {
        server
            .run(&["schedule", "hello", "--route", "a", "--at", at])
            .done();
        let heard = json(
            &server
                .run(&["listen", "a", "--count", "1", "--json"])
                .done(),
        );
        let late = heard["late_ms"].as_f64().expect("it is a number");
        assert!(late < 3_600_000.0, "{heard}");
        assert!(heard["due"].as_u64() > heard["fire_at"].as_u64(), "{heard}");
    }
}

#[test]
fn payloads_are_read_as_bytes_from_standard_input() {
    let server = Server::start(json!({}));
    let line = ["schedule", "-", "--route", "b", "--compression", "zstd"];
    run(&mut server.program(&line), b"\xff\xfe").done();
    let heard = server
        .run(&["listen", "a", "b", "--count", "1", "--json"])
        .done();
    let heard = json(&heard);
    assert_eq!(heard["payload_base64"], "//4=");
    assert_eq!(heard["compression"], "zstd");
    assert_eq!(heard["route_key"], "b");
    assert!(heard["late_ms"].as_f64().is_some_and(|late| late >= 0.0));
}

#[test]
fn headers_are_printed_with_the_payload() {
    let server = Server::start(json!({}));
    let line = ["schedule", "hello", "--route", "a", "--id", "1"];
    let headers = ["--header", "b=2", "--header", "a=x=y"];
    server.run(&[&line[..], &headers].concat()).done();
    let shown = server.run(&["get", "a", "1", "--payload"]).done();
    assert!(shown.ends_with("\n  a: x=y\n  b: 2\n  hello\n"), "{shown}");
    let heard = server.run(&["listen", "a", "--count", "1", "--json"]);
    assert_eq!(
        json(&heard.done())["headers"],
        json!({"a": "x=y", "b": "2"})
    );
}

#[test]
fn listen_with_a_count_takes_no_other_tasks() {
    let server = Server::start(json!({}));
    for at in ["1000", "2000", "3000"] {
        server
            .run(&["schedule", at, "--route", "a", "--at", at])
            .done();
    }
    let heard = server
        .run(&["listen", "a", "--count", "2", "--json"])
        .done();
    let heard: Vec<_> = heard.lines().map(json).collect();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0]["payload"], "1000");
    assert_eq!(heard[1]["payload"], "2000");
    // The third was not delivered before: this is its first attempt.
    let heard = json(
        &server
            .run(&["listen", "a", "--count", "1", "--json"])
            .done(),
    );
    assert_eq!(
        (&heard["payload"], &heard["attempt"]),
        (&"3000".into(), &1.into())
    );
}

#[test]
fn times_are_rfc_3339_or_milliseconds() {
    let server = Server::start(json!({}));
    for (id, at) in [("r", "2031-01-31T08:00:00.5+01:00"), ("m", "1927609200500")] {
        let receipt = server
            .run(&["schedule", "x", "--route", "a", "--id", id, "--at", at])
            .done();
        let wanted =
            format!("{id} on a is scheduled for 2031-01-31T07:00:00.500Z (1927609200500)\n");
        assert_eq!(receipt, wanted);
    }
    let stats = server.run(&["stats", "--route", "a"]).done();
    assert!(
        stats.starts_with("waiting 2, parked 0, in flight 0, retrying 0, dead 0"),
        "{stats}"
    );
    assert!(
        stats.lines().any(|line| line
            .split_whitespace()
            .eq(["a", "2", "0", "0", "0", "0", "0"])),
        "{stats}"
    );
}

#[test]
fn a_command_with_a_delay_can_be_repeated() {
    let server = Server::start(json!({}));
    let late = ["schedule", "x", "--route", "a", "--id", "i", "--in", "1h"];
    let receipt = server.run(&late).done();
    assert_eq!(server.run(&late).done(), receipt, "the first time stays");
    let get = r#"{"kind":"get","route_key":"a","id":"i"}"#;
    let fire_at = &server.running.peer().ask(get)["fire_at"];
    assert!(receipt.ends_with(&format!(" ({fire_at})\n")), "{receipt}");
}

#[test]
fn a_replaced_task_has_the_new_payload() {
    let server = Server::start(json!({}));
    let late = ["schedule", "old", "--route", "a", "--id", "i", "--in", "1h"];
    server.run(&late).done();
    server
        .run(&["schedule", "new", "--route", "a", "--id", "i", "--replace"])
        .done();
    let heard = json(
        &server
            .run(&["listen", "a", "--count", "1", "--json"])
            .done(),
    );
    assert_eq!(heard["payload"], "new");
}

#[test]
fn a_cancelled_task_is_gone() {
    let server = Server::start(json!({}));
    let late = ["schedule", "x", "--route", "a", "--id", "i", "--in", "1h"];
    server.run(&late).done();
    let cancelled = server.run(&["cancel", "a", "i"]).done();
    assert_eq!(cancelled, "i on a is cancelled\n");
    server.run(&["cancel", "a", "i"]).failed(1);
    let stats = json(&server.run(&["stats", "--json"]).done());
    assert_eq!(stats["waiting"], 0);
}

#[test]
fn a_task_is_moved_by_command() {
    let server = Server::start(json!({}));
    let late = ["schedule", "x", "--route", "a", "--id", "i", "--in", "1h"];
    server.run(&late).done();
    let due = "i on a is due at 2030-01-31T08:00:00.000Z (1896076800000)\n";
    for time in ["2030-01-31T09:00:00+01:00", "1896076800000"] {
        assert_eq!(server.run(&["reschedule", "a", "i", time]).done(), due);
    }
    let soon = server.run(&["reschedule", "a", "i", "20m"]).done();
    assert!(soon.starts_with("i on a is due at 2"), "{soon}");
    let now = server.run(&["run-now", "a", "i"]).done();
    assert!(now < soon, "{now} {soon}");
    take_and_disconnect(&server.address, 1);
    let stats = json(&server.run(&["stats", "--json"]).done());
    assert_eq!(
        stats["waiting"], 1,
        "its consumer is gone, and its backoff is a second"
    );
    for command in [
        &["run-now", "a", "no"][..],
        &["reschedule", "a", "no", "5s"],
    ] {
        let error = server.run(command).failed(1);
        assert!(error.contains("has no task \"no\""), "{error}");
    }
}

#[test]
fn a_dead_letter_is_listed_and_kicked() {
    let server = Server::start(json!({"max_attempts": 1}));
    for id in ["one", "two"] {
        server
            .run(&["schedule", "x", "--route", "a", "--id", id])
            .done();
    }
    take_and_disconnect(&server.address, 2);
    let begin = Instant::now();
    let listed = loop {
        let listed = server.run(&["dead", "a", "--json"]).done();
        if listed.lines().count() == 2 {
            break listed;
        }
        assert!(begin.elapsed() < PATIENCE, "not dead yet: {listed}");
    };
    let letter = json(listed.lines().next().unwrap());
    assert_eq!(
        (&letter["id"], &letter["attempt"]),
        (&"one".into(), &1.into())
    );
    let listed = server.run(&["dead", "a"]).done();
    assert!(listed.starts_with("one died at 2"), "{listed}");

    let kicked = server.run(&["dead", "a", "--kick", "one"]).done();
    assert_eq!(kicked, "one on a is due now\n");
    let kicked = server.run(&["dead", "a", "--kick-all"]).done();
    assert_eq!(kicked, "due now: 1\n");
    let heard = server.run(&["listen", "a", "--count", "2"]).done();
    assert_eq!(heard.matches("attempt 2").count(), 2, "{heard}");
    assert_eq!(server.run(&["dead", "a"]).done(), "");
}

/// Takes deliveries of route `a` and disconnects without an answer.
fn take_and_disconnect(address: &str, tasks: usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(b"{\"kind\":\"register\",\"route_key\":\"a\"}\n")
        .unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let deliveries = lines.filter(|line| line.contains(r#""kind":"delivery""#));
    assert_eq!(deliveries.take(tasks).count(), tasks);
}

#[test]
fn listen_fails_when_another_consumer_takes_the_route() {
    let server = Server::start(json!({}));
    let mut first = server.program(&["listen", "a"]).spawn().unwrap();
    let printed = lines(first.stdout.take().unwrap());
    server.run(&["schedule", "x", "--route", "a"]).done();
    // Its first line shows that it has registered the route.
    printed.recv_timeout(PATIENCE).unwrap();
    let mut second = server
        .program(&["listen", "a", "--exclusive"])
        .spawn()
        .unwrap();
    let complaint = lines(first.stderr.take().unwrap());
    assert_eq!(wait(&mut first).code(), Some(1));
    let complaint = complaint.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        complaint,
        r#"error: route "a" was taken by another consumer"#
    );
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn ping_prints_the_address_and_the_time() {
    let server = Server::start(json!({}));
    let line = ["ping", "--addr", &server.address];
    let pong = server.run(&line).done();
    assert!(
        pong.starts_with(&format!("pong from {} after ", server.address)),
        "{pong}"
    );
}
