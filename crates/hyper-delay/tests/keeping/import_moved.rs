//! `import --to` of tasks that were moved, with their original times.

use serde_json::json;
use testkit::request::later;

use crate::process::{exported, run, run_with, start, stop};

#[test]
fn a_moved_task_keeps_its_content_in_a_new_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let at = later();
    let (due, earlier) = (at + 9_000, at - 9_000);
    let lines = [
        format!(r#""fire_at":{at}"#),
        r#""delay_ms":9000000"#.to_owned(),
    ];
    let line = |id: usize| {
        let time = &lines[id % 2];
        format!(r#"{{"kind":"schedule","id":"{id}","route_key":"r",{time}}}"#)
    };
    let server = start(path, "data").run();
    let mut peer = server.peer();
    let mut first = Vec::new();
    for (id, to) in [due, due, earlier, earlier].into_iter().enumerate() {
        first.push(peer.ask(&line(id)));
        let kind = r#"{"kind":"reschedule","route_key":"r","#;
        let moved = peer.ask(&format!(r#"{kind}"id":"{id}","due":{to}}}"#));
        assert_eq!(moved["moved"], true, "{moved}");
    }
    stop(server);
    let export = run(path, &["export", "data"]).done();
    let tasks = exported(path, "data");
    assert_eq!(tasks["0"]["fire_at"], due);
    assert_eq!(tasks["0"]["original_fire_at"], at);
    assert_eq!(tasks["1"]["original_delay_ms"], 9_000_000);
    let said = run_with(path, &["import", "-", "--to", "new"], export.as_bytes()).done();
    assert_eq!(said, "imported 4, refused 0\n");
    run(path, &["verify", "new"]).done();
    assert_eq!(run(path, &["export", "new"]).done(), export);
    let server = start(path, "new").run();
    let mut peer = server.peer();
    for (id, first) in first.iter().enumerate() {
        assert_eq!(&peer.ask(&line(id)), first);
        let get = format!(r#"{{"kind":"get","route_key":"r","id":"{id}"}}"#);
        let to = [due, due, earlier, earlier][id];
        assert_eq!(peer.ask(&get)["due"], to);
    }
    stop(server);
}

#[test]
fn a_line_of_a_task_that_exists_does_not_move_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let at = later();
    let line = |due: u64| {
        json!({"kind": "schedule", "id": "a", "route_key": "r", "fire_at": due,
            "original_fire_at": at})
    };
    let lines = format!("{}\n{}\n", line(at + 9_000), line(at - 9_000));
    let said = run_with(path, &["import", "-", "--to", "new"], lines.as_bytes()).done();
    assert_eq!(said, "imported 2, refused 0\n");
    assert_eq!(exported(path, "new")["a"]["fire_at"], at + 9_000);
}

#[test]
fn a_task_that_expires_before_one_of_its_times_is_refused_by_the_name_of_the_field() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expires_at = later();
    let refused = |fields: serde_json::Value| {
        let mut line = json!({"kind": "schedule", "id": "a", "route_key": "r",
            "expires_at": expires_at});
        line.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let import = ["import", "-", "--to", "new"];
        let ended = run_with(path, &import, line.to_string().as_bytes());
        assert_eq!(ended.stdout, "imported 0, refused 1\n", "{ended:?}");
        std::fs::remove_dir_all(path.join("new")).unwrap();
        ended.failed(3)
    };
    let start = format!("line 1: expires_at is {expires_at} (");
    for original_delay in [json!(5), json!(null)] {
        let error = refused(json!({"fire_at": 1, "original_delay_ms": original_delay,
            "original_fire_at": expires_at}));
        let cure = format!("): give a time after original_fire_at, which is {expires_at} (");
        assert!(error.contains(&start) && error.contains(&cure), "{error}");
    }
    // It is due at the end of the delay, and is not written with another time.
    for original in [json!(null), json!(1)] {
        let error = refused(json!({"delay_ms": 90_000_000, "original_fire_at": original}));
        let cure = "): give a time after the end of delay_ms, which is ";
        assert!(error.contains(&start) && error.contains(cure), "{error}");
    }
    let error = refused(json!({"fire_at": 1, "original_fire_at": u64::MAX}));
    assert!(
        error.contains("line 1: original_fire_at is 18446744073709551615: give Unix milliseconds"),
        "{error}"
    );
}
