//! Stores and backups that go from the server of release 0.3 to this one and back, in processes.
//! `cargo xtask upgrade` builds the older server and runs these tests.

mod programs;
mod tasks;

use std::collections::BTreeMap;

use serde_json::json;
use testkit::{Peer, request::later};

use crate::process::stop;
use programs::{
    Programs,
    Release::{Current, V0_3},
};
use tasks::{EACH, SECOND_DIES, THIRD_DIES, Written, content, nack, schedule, state, states};

/// The retrying tasks that fail once more at this server.
const FAILED_AGAIN: std::ops::Range<usize> = 0..EACH / 2;

/// Of those, the ones that are due when 0.3 takes over.
const DUE: std::ops::Range<usize> = 2..5;

/// Checks that the server has every task of 0.3 as it was.
fn has_all(peer: &mut Peer, written: &Written) {
    assert_eq!(states(peer), written.states);
    assert_eq!(peer.all_stats()["retrying"], 0, "0.3 stores no failures");
    let dead = peer.ask(r#"{"kind":"dead","route_key":"dead","reason":"no disk"}"#);
    assert_eq!(dead["tasks"].as_array().unwrap().len(), EACH, "{dead}");
    for number in 0..EACH {
        // The same schedule again changes nothing, and what was done is remembered.
        for route in ["waiting", "parked", "retrying", "done"] {
            let content = &written.contents[&format!("{route}-{number}")];
            schedule(peer, content);
            let mut other = content.clone();
            other["payload_base64"] = "b3RoZXI=".into();
            assert_eq!(peer.code(&other.to_string()), "duplicate_id");
        }
        for route in ["done", "cancelled"] {
            let gone = state(peer, route, number);
            assert_eq!(gone["found"], false, "{gone}");
        }
    }
    assert_eq!(states(peer), written.states);
}

/// Takes what was in flight when 0.3 was killed.
fn takes_in_flight(peer: &mut Peer) {
    peer.register("flight");
    for _ in 0..EACH {
        let delivery = peer.delivery();
        assert_eq!(delivery["attempt"], 1, "the round begins again: {delivery}");
        assert!(peer.removes(&delivery));
    }
}

fn request(kind: &str, number: usize) -> String {
    json!({"kind": kind, "route_key": "retrying", "id": format!("retrying-{number}")}).to_string()
}

/// Fails the second round of some tasks whose first one has failed at 0.3.
fn fails_again(consumer: &mut Peer) {
    consumer.register("retrying");
    for number in FAILED_AGAIN {
        let moved = consumer.ask(&request("run_now", number));
        assert_eq!(moved["moved"], true, "{moved}");
        let delivery = consumer.delivery();
        assert_eq!(delivery["id"], format!("retrying-{number}"));
        assert_eq!(delivery["attempt"], 2, "rounds of both are counted");
        nack(consumer, &delivery, "seen by this release");
        let task = state(consumer, "retrying", number);
        assert_eq!(task["last_failure"]["reason"], "seen by this release");
        let is_dead = number == SECOND_DIES;
        let expected = if is_dead { "dead" } else { "waiting" };
        assert_eq!(
            task["state"], expected,
            "failures of both are counted: {task}"
        );
    }
    let reply = consumer.ask(r#"{"kind":"unregister","route_key":"retrying"}"#);
    assert_eq!(reply["kind"], "unregistered", "{reply}");
}

/// Changes tasks at 0.3, which keeps neither their failures nor the index.
fn changes_at_older(peer: &mut Peer) {
    let cancelled = peer.ask(&request("cancel", 0));
    assert_eq!(cancelled["found"], true, "{cancelled}");
    let mut other = content("retrying", 1, later());
    other["replace"] = true.into();
    schedule(peer, &other);
    let kicked = peer.ask(&request("kick", SECOND_DIES));
    assert_eq!(kicked["found"], true, "{kicked}");
    peer.register("retrying");
    for _ in 0..=DUE.len() {
        let delivery = peer.delivery();
        match delivery["id"].as_str().unwrap() {
            "retrying-4" => assert!(peer.removes(&delivery)),
            _ => nack(peer, &delivery, "seen by 0.3 again"),
        }
    }
}

fn expected(numbers: impl Iterator<Item = usize>, reason: &str) -> BTreeMap<String, String> {
    let ids = numbers.map(|number| format!("retrying-{number}"));
    ids.map(|id| (id, reason.to_owned())).collect()
}

#[test]
#[ignore = "needs the server of 0.3: `cargo xtask upgrade`"]
fn a_store_goes_from_0_3_to_this_release_and_back_and_forward_again() {
    let programs = Programs::new();
    let server = programs.start(V0_3, "data");
    let written = tasks::write(&server);
    server.kill();

    programs.run(Current, &["verify", "data"]).done();
    let server = programs.start(Current, "data");
    let mut peer = server.peer();
    has_all(&mut peer, &written);
    takes_in_flight(&mut peer);
    fails_again(&mut peer);
    let retrying = FAILED_AGAIN.filter(|number| *number != SECOND_DIES);
    let listed = expected(retrying, "seen by this release");
    assert_eq!(tasks::retrying(&mut peer, listed.len()), listed);
    // They become due without a consumer.
    for number in DUE {
        assert_eq!(peer.ask(&request("run_now", number))["moved"], true);
    }
    peer.stats_until("retrying", |stats| stats["parked"] == DUE.len());
    let before = states(&mut peer);
    stop(server);

    let verified = programs.run(V0_3, &["verify", "data"]).done();
    println!("0.3 says of the store: {}", verified.trim());
    let server = programs.start(V0_3, "data");
    let mut peer = server.peer();
    assert_eq!(states(&mut peer), tasks::without_failures(before));
    changes_at_older(&mut peer);
    let backup = programs.back_up(V0_3, &server, "of-0.3");
    server.kill();

    // 0, 1, 4 and `DUE` have no failure any more, nor has the task that died.
    let left = FAILED_AGAIN.filter(|number| *number > DUE.end - 1 && *number != SECOND_DIES);
    let mut left = expected(left, "seen by this release");
    let backup = backup.to_str().unwrap();
    programs
        .run(Current, &["restore", backup, "--to", "restored"])
        .done();
    for data in ["data", "restored"] {
        programs.run(Current, &["verify", data]).done();
        let server = programs.start(Current, data);
        let mut peer = server.peer();
        assert_eq!(tasks::retrying(&mut peer, left.len()), left, "{data}");
        assert_eq!(peer.stats("retrying")["retrying"], left.len());
        stop(server);
    }

    let server = programs.start(Current, "data");
    let mut consumer = server.consumer("retrying");
    let dies = format!("retrying-{THIRD_DIES}");
    for number in [2, THIRD_DIES] {
        let moved = consumer.ask(&request("run_now", number));
        assert_eq!(moved["moved"], true, "{moved}");
        let delivery = consumer.delivery();
        nack(&mut consumer, &delivery, "the last one");
    }
    assert_eq!(
        state(&mut consumer, "retrying", THIRD_DIES)["state"],
        "dead"
    );
    left.remove(&dies);
    left.insert("retrying-2".to_owned(), "the last one".to_owned());
    assert_eq!(tasks::retrying(&mut consumer, left.len()), left);
    stop(server);
    programs.run(Current, &["verify", "data"]).done();
}

#[test]
#[ignore = "needs the server of 0.3: `cargo xtask upgrade`"]
fn a_backup_of_0_3_is_restored() {
    let programs = Programs::new();
    let server = programs.start(V0_3, "data");
    let written = tasks::write(&server);
    let backup = programs.back_up(V0_3, &server, "backups");
    server.kill();
    let backup = backup.to_str().unwrap();
    programs
        .run(Current, &["restore", backup, "--to", "new"])
        .done();
    programs.run(Current, &["verify", "new"]).done();
    let server = programs.start(Current, "new");
    let mut peer = server.peer();
    has_all(&mut peer, &written);
    takes_in_flight(&mut peer);
    stop(server);
}

/// A delay makes a record of version 3, which 0.3 neither delivers nor buries: it ends.
#[test]
#[ignore = "needs the server of 0.3: `cargo xtask upgrade`"]
fn the_server_of_0_3_ends_when_it_reads_a_newer_record_and_changes_nothing() {
    let programs = Programs::new();
    let server = programs.start(Current, "data");
    let mut peer = server.peer();
    let reply = peer.ask(r#"{"kind":"schedule","route_key":"r","id":"delayed","delay_ms":1}"#);
    assert_eq!(reply["kind"], "ack", "{reply}");
    let get = r#"{"kind":"get","route_key":"r","id":"delayed"}"#;
    let state = |peer: &mut Peer| peer.until(|peer| peer.ask(get), |it| it["state"] == "parked");
    let before = state(&mut peer);
    stop(server);

    let version = "its version is 3, and this server reads 2";
    let verified = programs.run(V0_3, &["verify", "data"]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains(version), "{}", verified.stdout);
    let server = programs.start(V0_3, "data");
    let consumer = server.peer();
    consumer.send(r#"{"kind":"register","route_key":"r"}"#);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(1));
    let cure = "a newer server wrote it: start that server or a newer one; nothing was changed";
    assert!(log.contains(&format!("{version}; {cure}")), "{log}");

    programs.run(Current, &["verify", "data"]).done();
    let server = programs.start(Current, "data");
    let mut peer = server.peer();
    let mut after = state(&mut peer);
    after["tag"] = before["tag"].clone();
    assert_eq!(after, before);
    peer.register("r");
    let delivery = peer.delivery();
    assert_eq!(delivery["attempt"], 1, "{delivery}");
    assert!(peer.removes(&delivery));
    stop(server);
}
