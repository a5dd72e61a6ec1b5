//! `restore` and `verify` of backups.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use testkit::{
    PATIENCE,
    request::{echo, later},
};

use crate::process::{back_up, exported, names, program, run, run_with, start, stop};

/// A backup with a waiting, a parked and a dead task, and a finished name, as `backup` below the
/// directory. The data of its stopped server is in `data`.
fn backed_up(path: &Path) -> Vec<u8> {
    let server = start(path, "data").run();
    let mut peer = server.consumer("a");
    peer.due("a", "dead");
    let nack = echo("nack", &peer.delivery());
    peer.send(nack);
    peer.due("a", "done");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.due("a", "parked");
    peer.plan("a", "waiting", later());
    peer.stats_until("a", |stats| stats["parked"] == 1 && stats["dead"] == 1);
    let backup = back_up(path, &server);
    stop(server);
    fs::rename(&backup, path.join("backup")).unwrap();
    fs::read(path.join("backup")).unwrap()
}

#[test]
fn a_restored_server_is_as_the_one_that_was_backed_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    backed_up(path);
    let said = run(path, &["verify", "backup"]).done();
    let content = "3 tasks (1 waiting, 1 parked, 1 dead), 1 finished names";
    assert_eq!(said, format!("all is well: {content}\n"));
    let said = run(path, &["restore", "backup", "--to", "new"]).done();
    assert_eq!(
        said,
        format!("restored {content}; to use them, set data_dir to new\n")
    );
    assert_eq!(exported(path, "new"), exported(path, "data"));

    let server = start(path, "new").run();
    let mut peer = server.peer();
    // A finished task is remembered.
    peer.due("a", "done");
    let stats = peer.all_stats();
    for state in ["waiting", "parked", "dead"] {
        assert_eq!(stats[state], 1, "{stats}");
    }
    let dead = peer.ask(r#"{"kind":"dead","route_key":"a"}"#);
    assert_eq!(dead["tasks"][0]["id"], "dead", "{dead}");
    assert_eq!(dead["tasks"][0]["attempt"], 1, "{dead}");
    peer.register("a");
    let delivery = peer.delivery();
    assert_eq!(delivery["id"], "parked");
    assert!(peer.removes(&delivery));
    stop(server);
    run(path, &["verify", "new"]).done();
}

#[test]
fn cut_and_flipped_backups_are_refused_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let bytes = backed_up(path);
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let middle = bytes.len() / 2;
    // What is seen in the header leaves no directory.
    let mut are_begun = 0;
    for (bytes, expected) in [
        // A version that does not exist yet.
        (
            flipped(8),
            "bad is damaged at byte 12: a checksum does not match",
        ),
        (
            bytes[..middle].to_vec(),
            "it is cut off: its end is missing",
        ),
        (
            bytes[..bytes.len() - 1].to_vec(),
            "it is cut off: its end is missing",
        ),
        (flipped(middle), "a checksum does not match"),
        (flipped(bytes.len() - 1), "a checksum does not match"),
        (flipped(0), "bad is no backup"),
        (Vec::new(), "bad is no backup"),
        ([&bytes[..], b"\n"].concat(), "bytes follow its end"),
    ] {
        fs::write(path.join("bad"), bytes).unwrap();
        for line in [
            ["verify", "bad"].as_slice(),
            &["restore", "bad", "--to", "new"],
        ] {
            let error = run(path, line).failed(1);
            assert!(error.contains(expected), "{expected}: {error}");
        }
        if path.join("new").exists() {
            are_begun += 1;
            assert_eq!(names(&path.join("new")), ["lock", "restore.unfinished"]);
            assert_eq!(names(&path.join("new/restore.unfinished")), [""; 0]);
            let log = start(path, "new").try_run().unwrap_err();
            assert!(log.contains("make it again into this directory"), "{log}");
            fs::remove_dir_all(path.join("new")).unwrap();
        }
    }
    assert_eq!(are_begun, 5);
}

#[test]
fn a_directory_that_is_not_empty_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    backed_up(path);
    let before = exported(path, "data");
    let error = run(path, &["restore", "backup", "--to", "data"]).failed(1);
    assert!(
        error.starts_with("error: data is not empty, it has ")
            && error.contains("never overwritten"),
        "{error}"
    );
    assert_eq!(exported(path, "data"), before);
    let error = run(path, &["restore", "data", "--to", "new"]).failed(1);
    let cure = "error: data is a folder: give a backup, which is a file";
    assert!(error.starts_with(cure), "{error}");
    let error = run(path, &["verify", "absent"]).failed(1);
    assert!(
        error.contains("absent contains no store: it does not exist; give "),
        "{error}"
    );
    let error = run(path, &["restore", "absent", "--to", "new"]).failed(1);
    assert!(error.starts_with("error: absent: No such file"), "{error}");
    fs::create_dir(path.join("new")).unwrap();
    run(path, &["restore", "backup", "--to", "new"]).done();
    assert_eq!(exported(path, "new"), before);
}

#[test]
fn no_server_starts_beside_an_interrupted_restore() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    backed_up(path);
    fs::create_dir_all(path.join("new/restore.unfinished")).unwrap();
    fs::write(path.join("new/commits"), "").unwrap();
    let log = start(path, "new").try_run().unwrap_err();
    assert!(
        log.contains("data_dir new has what is left of a restore"),
        "{log}"
    );
    let error = run(path, &["restore", "backup", "--to", "new"]).failed(1);
    assert!(
        error.contains("and has commits: delete what is in it"),
        "{error}"
    );
    fs::remove_file(path.join("new/commits")).unwrap();
    run(path, &["restore", "backup", "--to", "new"]).done();
    let names = names(&path.join("new"));
    assert_eq!(names, ["commits", "lock", "store"]);
}

#[test]
fn a_killed_restore_leaves_no_store_that_a_server_starts_with() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let bytes = backed_up(path);
    let mut command = program(path, &["restore", "-", "--to", "new"]);
    let mut restore = command.stdin(Stdio::piped()).spawn().unwrap();
    // All but the end, which it waits for.
    let mut stdin = restore.stdin.take().unwrap();
    stdin.write_all(&bytes[..bytes.len() - 1]).unwrap();
    let begun = Instant::now();
    while !path.join("new/restore.unfinished/store").exists() {
        assert!(begun.elapsed() < PATIENCE, "{:?}", names(&path.join("new")));
        thread::sleep(Duration::from_millis(5));
    }
    restore.kill().unwrap();
    restore.wait().unwrap();
    drop(stdin);
    assert_eq!(names(&path.join("new")), ["lock", "restore.unfinished"]);
    start(path, "new").try_run().unwrap_err();
    assert_eq!(names(&path.join("new")), ["lock", "restore.unfinished"]);
    let error = run_with(
        path,
        &["restore", "-", "--to", "new"],
        &bytes[..bytes.len() - 1],
    );
    let error = error.failed(1);
    let note = "note: no server starts with the data_dir new until";
    assert!(error.contains(note), "{error}");
    start(path, "new").try_run().unwrap_err();
    // It is made again in the same place.
    run_with(path, &["restore", "-", "--to", "new"], &bytes).done();
    assert_eq!(exported(path, "new"), exported(path, "data"));
    let verified = run_with(path, &["verify", "-"], &bytes).done();
    assert!(verified.starts_with("all is well: 3 tasks"), "{verified}");
}
