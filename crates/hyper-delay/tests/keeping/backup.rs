//! `backup` of a running server.

use std::{fs, thread, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value;
use testkit::{Peer, Process, request::later};

use crate::{
    load::Load,
    process::{back_up, exported, names, program, run, run_with, start, stop},
    proxy,
};

/// Schedules tasks with payloads of `size` letters.
fn fill(peer: &mut Peer, count: usize, size: usize) {
    let at = later();
    let payload = "eHh4".repeat(size / 3);
    let tags: Vec<_> = (0..count)
        .map(|number| {
            peer.ask_later(&format!(
                r#"{{"kind":"schedule","id":"{number}","route_key":"r","fire_at":{at},"payload_base64":"{payload}"}}"#
            ))
        })
        .collect();
    for tag in tags {
        assert_eq!(peer.answer(&tag)["kind"], "ack");
    }
}

fn piece(peer: &mut Peer, offset: usize) -> Value {
    peer.ask(&format!(r#"{{"kind":"backup","offset":{offset}}}"#))
}

fn data(piece: &Value) -> Vec<u8> {
    assert_eq!(piece["kind"], "backup", "{piece}");
    BASE64
        .decode(piece["data_base64"].as_str().unwrap())
        .unwrap()
}

#[test]
fn a_backup_under_load_has_all_that_was_acknowledged_and_nothing_half() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    let load = Load::start(server.address);
    while load.noted().removed.len() < 200 {
        thread::sleep(Duration::from_millis(10));
    }
    let before = load.noted();
    let backup = back_up(path, &server);
    let during = load.noted();
    // A second one, of a later moment, while the load goes on.
    let second = back_up(path, &server);
    server.kill();
    let after = load.end();
    println!(
        "{} tasks acknowledged before the backup, {} during it",
        before.scheduled.len(),
        during.scheduled.len() - before.scheduled.len(),
    );

    let mut restored = Vec::new();
    for (number, (backup, earlier)) in [(&backup, &before), (&second, &during)].iter().enumerate() {
        let data = format!("restored-{number}");
        let name = backup.to_str().unwrap();
        run(path, &["verify", name]).done();
        run(path, &["restore", name, "--to", &data]).done();
        let verified = run(path, &["verify", &data]).done();
        let tasks = exported(path, &data);
        assert_eq!(verified, format!("all is well: {} tasks\n", tasks.len()));
        for (id, task) in &tasks {
            let (fire_at, payload) = &after.sent[id];
            let content = (task["fire_at"].as_u64(), task["payload_base64"].as_str());
            assert_eq!(content, (Some(*fire_at), Some(&**payload)), "{task}");
            assert!(!earlier.removed.contains(id), "it was removed: {task}");
        }
        for id in earlier.scheduled.difference(&after.answered) {
            assert!(tasks.contains_key(id), "{id} was acknowledged");
        }
        let has = |state: &str| tasks.values().any(|task| task["state"] == state);
        assert!(["waiting", "parked", "dead"].into_iter().all(has));
        restored.push(tasks);
    }
    assert!(restored[1].len() > restored[0].len());

    // The restored store serves what it has.
    let server = start(path, "restored-0").run();
    let mut peer = server.peer();
    let stats = peer.all_stats();
    for state in ["waiting", "parked", "dead"] {
        let tasks = restored[0].values().filter(|task| task["state"] == state);
        // Those of the consumers that are gone are parked now, or still waiting.
        if state == "dead" {
            assert_eq!(stats[state], tasks.count(), "{stats}");
        }
    }
    peer.register("parked");
    assert_eq!(peer.delivery()["route_key"], "parked");
    stop(server);
}

#[test]
fn commits_go_on_while_a_backup_is_read_and_are_not_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    let mut producer = server.peer();
    fill(&mut producer, 300, 1_000);
    let mut reader = server.peer();
    let mut bytes = data(&reader.ask(r#"{"kind":"backup"}"#));
    producer.plan("r", "later", later());
    assert_eq!(
        producer.ask(r#"{"kind":"cancel","id":"7","route_key":"r"}"#)["found"],
        true
    );
    loop {
        let next = piece(&mut reader, bytes.len());
        assert_eq!(next["offset"], bytes.len(), "{next}");
        bytes.extend(data(&next));
        if next["more"] == false {
            break;
        }
    }
    stop(server);
    let said = run_with(path, &["restore", "-", "--to", "other"], &bytes).done();
    assert!(said.starts_with("restored 300 tasks ("), "{said}");
    let tasks = exported(path, "other");
    assert!(tasks.contains_key("7") && !tasks.contains_key("later"));
}

#[test]
fn a_stream_to_standard_output_is_the_backup() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    fill(&mut server.peer(), 10, 30);
    let address = server.address.to_string();
    let mut command = program(path, &["backup", "-", "--addr", &address]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = run_with(path, &["restore", "-", "--to", "a"], &output.stdout).done();
    assert!(said.starts_with("restored 10 tasks ("), "{said}");
    let file = back_up(path, &server);
    stop(server);
    run(path, &["restore", file.to_str().unwrap(), "--to", "b"]).done();
    let original = exported(path, "data");
    assert_eq!(exported(path, "a"), original);
    assert_eq!(exported(path, "b"), original);
}

#[test]
fn pieces_are_asked_for_in_order_and_two_backups_at_a_time_are_made() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "data").run();
    fill(&mut server.peer(), 200, 1_000);
    let mut first = server.peer();
    let error = piece(&mut first, 5);
    assert_eq!(error["code"], "bad_field", "{error}");
    let read = data(&piece(&mut first, 0)).len();
    let error = piece(&mut first, read + 1);
    let next = format!("the next piece of the backup begins at {read}: begin again");
    assert!(
        error["message"].as_str().unwrap().contains(&next),
        "{error}"
    );
    assert!(!data(&piece(&mut first, read)).is_empty());

    let mut second = server.peer();
    assert_eq!(piece(&mut second, 0)["kind"], "backup");
    let mut third = server.peer();
    assert_eq!(third.code(r#"{"kind":"backup"}"#), "busy");
    // Beginning again, and the end of a connection, make room.
    assert_eq!(piece(&mut second, 0)["kind"], "backup");
    drop(first);
    third.until(|peer| piece(peer, 0), |piece| piece["kind"] == "backup");
}

#[test]
fn a_killed_backup_leaves_nothing_that_looks_usable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    fill(&mut server.peer(), 2_000, 1_000);
    let proxy = proxy::stalls_after(server.address, 500_000).to_string();
    let process = Process::spawn(&mut program(path, &["backup", "backups", "--addr", &proxy]));
    let folder = path.join("backups");
    let written = || {
        let name = names(&folder).pop()?;
        let length = fs::metadata(folder.join(&name)).ok()?.len();
        (length > 200_000).then_some(name)
    };
    let begun = std::time::Instant::now();
    let name = loop {
        if let Some(name) = written() {
            break name;
        }
        assert!(begun.elapsed() < testkit::PATIENCE, "{:?}", names(&folder));
        thread::sleep(Duration::from_millis(5));
    };
    drop(process);
    assert_eq!(names(&folder), [&*name]);
    assert!(name.ends_with(".backup.unfinished"), "{name}");
    let cut = format!("backups/{name}");
    for line in [
        ["verify", &cut].as_slice(),
        &["restore", &cut, "--to", "other"],
    ] {
        let error = run(path, line).failed(1);
        assert!(
            error.contains("it is cut off: its end is missing"),
            "{error}"
        );
    }
    assert_eq!(names(&path.join("other/restore.unfinished")), [""; 0]);
    // The server has noticed, and the next one is whole.
    let whole = back_up(path, &server);
    run(path, &["verify", whole.to_str().unwrap()]).done();
}

#[test]
fn a_lost_connection_is_an_error_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    fill(&mut server.peer(), 2_000, 1_000);
    let proxy = proxy::closes_after(server.address, 500_000).to_string();
    let error = run(path, &["backup", "backups", "--addr", &proxy]).failed(1);
    assert!(
        error.starts_with("error: the connection was lost")
            && error.contains("make the backup again"),
        "{error}"
    );
    assert_eq!(names(&path.join("backups")), [""; 0]);
}

#[test]
fn a_server_that_ends_in_the_middle_of_a_backup_is_an_error_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    fill(&mut server.peer(), 2_000, 1_000);
    // The reply to `hello` and two pieces.
    let proxy = proxy::ends_after_lines(server.address, 3).to_string();
    let error = run(path, &["backup", "backups", "--addr", &proxy]).failed(1);
    assert!(error.contains("make the backup again"), "{error}");
    assert_eq!(names(&path.join("backups")), [""; 0]);
    let line = server.logs("a backup was broken off before its end");
    assert!(line.contains("WARN"), "{line}");
    assert!(!server.log().contains("a backup was read to its end"));
}

#[test]
fn the_path_is_printed_alone_and_only_the_owner_may_read_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    fill(&mut server.peer(), 10, 30);
    let address = server.address.to_string();
    let ended = run(path, &["backup", "backups", "--addr", &address]);
    assert_eq!(
        ended.stderr,
        "10 tasks (10 waiting, 0 parked, 0 dead), 0 finished names\n"
    );
    let name = names(&path.join("backups")).remove(0);
    assert_eq!(ended.done(), format!("backups/{name}\n"));
    server.logs("a backup was read to its end");
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let mode = fs::metadata(path.join("backups").join(name))
            .unwrap()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    fs::write(path.join("file"), "").unwrap();
    let error = run(path, &["backup", "file", "--addr", &address]).failed(1);
    assert!(
        error.starts_with("error: file is a file: give a folder"),
        "{error}"
    );
}

#[test]
fn data_that_nobody_reads_to_its_end_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    fill(&mut server.peer(), 2_000, 1_000);
    let address = server.address.to_string();
    let cut = |line: &[&str]| {
        let mut child = program(path, line).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut first = [0];
        std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
        drop(stdout);
        testkit::process::finish(child)
    };
    let error = cut(&["backup", "-", "--addr", &address]).failed(1);
    assert!(error.contains("has not got everything"), "{error}");
    // A list for people is not cut, however little of it they read.
    cut(&["list", "r", "--addr", &address]).done();
    stop(server);
    let error = cut(&["export", "data"]).failed(1);
    assert!(error.contains("has not got everything"), "{error}");
}
