//! `import` into a server and into a new store.

use std::fs;

use serde_json::{Value, json};
use testkit::request::{later, now};

use crate::process::{back_up, exported, names, program, run, run_with, start, stop};

/// An export with two waiting tasks, one of them of other content than usual.
fn export() -> Vec<String> {
    let at = later();
    let line = |id: &str, fields: &str| {
        format!(r#"{{"kind":"schedule","id":"{id}","route_key":"r","fire_at":{at},{fields}}}"#)
    };
    vec![
        line(
            "one",
            r#""compression":"none","payload_base64":"aGVsbG8=","state":"waiting","attempt":0"#,
        ),
        line(
            "two \\\"x\\\"",
            r#""compression":"zstd","payload_base64":"","state":"dead","attempt":7"#,
        ),
    ]
}

#[test]
fn exported_tasks_are_imported_into_a_server_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    let address = server.address.to_string();
    let lines = export().join("\n");
    for _ in 0..2 {
        let said = run_with(path, &["import", "-", "--addr", &address], lines.as_bytes()).done();
        assert_eq!(said, "imported 2, refused 0\n");
    }
    assert_eq!(server.peer().all_stats()["waiting"], 2);
    stop(server);
    let first = run(path, &["export", "data"]).done();
    let tasks = exported(path, "data");
    assert_eq!(tasks["one"]["payload_base64"], "aGVsbG8=");
    assert_eq!(tasks["two \"x\""]["compression"], "zstd");

    // And into a new store, which has the same tasks.
    fs::write(path.join("lines"), &first).unwrap();
    let said = run(path, &["import", "lines", "--to", "new"]).done();
    assert_eq!(said, "imported 2, refused 0\n");
    run(path, &["verify", "new"]).done();
    assert_eq!(run(path, &["export", "new"]).done(), first);
    let server = start(path, "new").run();
    assert_eq!(server.peer().all_stats()["waiting"], 2);
    stop(server);
}

#[test]
fn bad_lines_are_refused_by_number_and_the_others_are_imported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    let address = server.address.to_string();
    server.peer().plan("r", "taken", later());
    let good = export();
    let [one, two] = good.as_slice() else {
        panic!("{good:?}")
    };
    let lines = [
        one,
        "",
        "{\"kind\":",
        r#"{"kind":"ping"}"#,
        r#"{"kind":"schedule","route_key":"r","fire_at":1}"#,
        r#"{"kind":"schedule","id":"a","fire_at":1}"#,
        r#"{"kind":"schedule","id":"a","route_key":"r","fire_at":1732616400}"#,
        r#"{"kind":"schedule","id":"taken","route_key":"r","fire_at":1}"#,
        r#"{"kind":"schedule","id":"far","route_key":"r","fire_at":9007199254740992}"#,
        two,
    ]
    .join("\r\n");
    let ended = run_with(path, &["import", "-", "--addr", &address], lines.as_bytes());
    assert_eq!(ended.stdout, "imported 2, refused 7\n", "{ended:?}");
    let error = ended.failed(3);
    for expected in [
        "line 3: not JSON",
        "line 4: it is no schedule",
        "line 5: id is missing",
        "line 6: route_key is missing",
        "line 7: fire_at is 1732616400",
        "line 8: ",
        "line 9: fire_at is 9007199254740992, more than max_delay_days ahead",
        "error: lines that were refused: 7;",
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(server.peer().all_stats()["waiting"], 3);
    stop(server);

    let ended = run_with(path, &["import", "-", "--to", "new"], lines.as_bytes());
    // Without a server there is no taken name.
    assert_eq!(ended.stdout, "imported 3, refused 6\n", "{ended:?}");
    let error = ended.failed(3);
    let far = "line 9: fire_at is 9007199254740992, more than max_delay_days ahead: give at most ";
    assert!(error.contains(far), "{error}");
    let cure = "mend the lines, and import them into the server that uses it";
    assert!(error.contains(cure), "{error}");
    run(path, &["verify", "new"]).done();
    let in_days = later() + 3 * 86_400_000;
    let line = format!(
        r#"{{"kind":"schedule","id":"a","route_key":"r","fire_at":{in_days},"payload_base64":""}}"#
    );
    let import = ["import", "-", "--to", "near", "--max-delay-days"];
    for (days, code) in [("1", 3), ("36500", 0)] {
        let ended = run_with(path, &[&import[..], &[days]].concat(), line.as_bytes());
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let _ = fs::remove_dir_all(path.join("near"));
    }
}

#[test]
fn what_is_no_export_ends_the_import_and_leaves_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let lines = "garbage\n".repeat(1_000);
    let error = run_with(path, &["import", "-", "--to", "new"], lines.as_bytes()).failed(1);
    assert!(
        error.contains("line 100: ") && !error.contains("line 101: "),
        "{error}"
    );
    assert!(error.contains("100 lines in a row were refused"), "{error}");
    // A server would begin without a task.
    assert_eq!(names(&path.join("new")), ["lock", "restore.unfinished"]);
    let note = "note: no server starts with the data_dir new until";
    assert!(error.contains(note), "{error}");
    start(path, "new").try_run().unwrap_err();
    let long = json!({"kind": "schedule", "id": "long", "route_key": "r", "fire_at": 1,
        "payload_base64": "eHh4".repeat(30_000)});
    let ended = run_with(
        path,
        &["import", "-", "--to", "new"],
        long.to_string().as_bytes(),
    );
    let error = ended.failed(3);
    assert!(
        error.contains("line 1: its delivery would be a line of "),
        "{error}"
    );
}

#[test]
fn what_has_no_effect_or_no_server_would_take_is_a_wrong_option() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("lines"), export().join("\n")).unwrap();
    let import = ["import", "lines", "--to", "new"];
    for (more, named) in [
        (["--addr", "127.0.0.1:1"], "--addr has no effect"),
        (["--tls-ca", "ca.pem"], "--tls-ca has no effect"),
        (
            ["--max-line-bytes", "1023"],
            "1023 is not in 1024..=16777216",
        ),
        (["--max-delay-days", "36501"], "36501 is not in 1..=36500"),
    ] {
        let error = run(path, &[&import[..], &more].concat()).failed(2);
        assert!(error.contains(named), "{error}");
        assert!(!path.join("new").exists());
    }
    let mut command = program(path, &import);
    command.env("HYPER_DELAY_ADDR", "127.0.0.1:1");
    testkit::process::run(&mut command, b"").done();
    let error = run(path, &["import", "new"]).failed(1);
    assert!(error.contains("new is a folder: give an export"), "{error}");
}

#[test]
fn an_import_ends_when_the_server_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let error = run(path, &["import", "absent"]).failed(1);
    assert!(error.starts_with("error: absent: No such file"), "{error}");
    let server = start(path, "data").run();
    let address = server.address.to_string();
    server.kill();
    let lines = export().join("\n");
    let error = run_with(path, &["import", "-", "--addr", &address], lines.as_bytes()).failed(1);
    assert!(error.contains("start a server with"), "{error}");
}

#[test]
fn terms_and_headers_survive_an_export_and_expired_tasks_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let terms = r#""headers":{"b":"\"","traceparent":"00-a"},"expires_at":4000000000000,"ack_timeout_ms":1,"max_attempts":2,"retry_delay_ms":3,"max_retry_delay_ms":4"#;
    let kept = format!(
        r#"{{"kind":"schedule","id":"kept","route_key":"r","fire_at":2000000000000,{terms}}}"#
    );
    let mut lines = vec![kept];
    // More than the refused lines after which an import ends.
    for number in 0..200 {
        lines.push(format!(
            r#"{{"kind":"schedule","id":"{number}","route_key":"r","fire_at":1,"expires_at":2}}"#
        ));
    }
    fs::write(path.join("lines"), lines.join("\n")).unwrap();
    let server = start(path, "data").run();
    let address = server.address.to_string();
    let said = run(path, &["import", "lines", "--addr", &address]).done();
    assert_eq!(said, "imported 1, refused 0, expired 200\n");
    stop(server);
    let first = run(path, &["export", "data"]).done();
    let exported = exported(path, "data");
    let task = &exported["kept"];
    assert_eq!(task["headers"]["b"], "\"");
    for (field, value) in [
        ("expires_at", 4_000_000_000_000_u64),
        ("ack_timeout_ms", 1),
        ("max_attempts", 2),
        ("retry_delay_ms", 3),
        ("max_retry_delay_ms", 4),
    ] {
        assert_eq!(task[field], value, "{field}");
    }
    let said = run(path, &["import", "lines", "--to", "new"]).done();
    assert_eq!(said, "imported 1, refused 0, expired 200\n");
    run(path, &["verify", "new"]).done();
    assert_eq!(run(path, &["export", "new"]).done(), first);
    // A repair keeps them, too, and a backup of what it has written is consistent.
    run(path, &["repair", "new", "--to", "repaired"]).done();
    assert_eq!(run(path, &["export", "repaired"]).done(), first);
    let server = start(path, "repaired").run();
    let address = server.address.to_string();
    run(path, &["backup", "backups", "--addr", &address]).done();
    stop(server);
    let backup = fs::read_dir(path.join("backups")).unwrap().next();
    let backup = backup.unwrap().unwrap().path();
    let backup = backup.to_str().unwrap();
    run(path, &["restore", backup, "--to", "restored"]).done();
    assert_eq!(run(path, &["export", "restored"]).done(), first);
}

#[test]
fn a_delay_counts_from_the_import_and_survives_an_export_into_a_new_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let line = r#"{"kind":"schedule","id":"1","route_key":"r","delay_ms":9000000}"#;
    let server = start(path, "served").run();
    let address = server.address.to_string();
    let before = now();
    for _ in 0..2 {
        let said = run_with(path, &["import", "-", "--addr", &address], line.as_bytes()).done();
        assert_eq!(said, "imported 1, refused 0\n");
    }
    stop(server);
    let said = run_with(path, &["import", "-", "--to", "written"], line.as_bytes()).done();
    assert_eq!(said, "imported 1, refused 0\n");
    let after = now();
    for data in ["served", "written"] {
        let exported = run(path, &["export", data]).done();
        let task: Value = serde_json::from_str(&exported).unwrap();
        let fire_at = task["fire_at"].as_u64().unwrap();
        assert!(
            (before + 9_000_000..=after + 9_000_000).contains(&fire_at),
            "{data}"
        );
        assert_eq!(task["original_delay_ms"], 9_000_000);
        assert_eq!(task.get("delay_ms"), None);

        // A new store has the same content, and a repeat of the first schedule changes nothing.
        let new = format!("new-{data}");
        let said = run_with(path, &["import", "-", "--to", &new], exported.as_bytes()).done();
        assert_eq!(said, "imported 1, refused 0\n");
        run(path, &["verify", &new]).done();
        assert_eq!(run(path, &["export", &new]).done(), exported);
        let server = start(path, &new).run();
        assert_eq!(server.peer().ask(line)["fire_at"], fire_at);
        stop(server);
    }
}

#[test]
fn a_delayed_task_that_a_server_still_has_is_refused_and_does_not_end_the_import() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let lines: String = (0..120)
        .map(|id| {
            format!(
                r#"{{"kind":"schedule","id":"{id}","route_key":"r","delay_ms":9000000}}{}"#,
                '\n'
            )
        })
        .collect();
    run_with(path, &["import", "-", "--to", "data"], lines.as_bytes()).done();
    let exported = run(path, &["export", "data"]).done();
    let server = start(path, "data").run();
    let address = server.address.to_string();
    let ended = run_with(
        path,
        &["import", "-", "--addr", &address],
        exported.as_bytes(),
    );
    assert_eq!(ended.stdout, "imported 0, refused 120\n", "{ended:?}");
    assert_eq!(server.peer().all_stats()["waiting"], 120);
    stop(server);
    // A server that does not have them keeps their times.
    let other = start(path, "other").run();
    let address = other.address.to_string();
    for _ in 0..2 {
        let said = run_with(
            path,
            &["import", "-", "--addr", &address],
            exported.as_bytes(),
        )
        .done();
        assert_eq!(said, "imported 120, refused 0\n");
    }
    stop(other);
}

#[test]
fn every_combination_of_headers_and_terms_survives_imports_exports_and_repairs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let all = [
        ("headers", json!({"a": "\"", "b": ""})),
        ("expires_at", json!(4_000_000_000_000_u64)),
        ("ack_timeout_ms", json!(1)),
        ("max_attempts", json!(1)),
        ("retry_delay_ms", json!(1)),
        ("max_retry_delay_ms", json!(1)),
    ];
    let given = |number: u32| {
        let is_given = move |field: &usize| number >> field & 1 == 1;
        let fields = (0..all.len()).filter(is_given).map(|field| &all[field]);
        fields.map(|(field, value)| ((*field).to_owned(), value.clone()))
    };
    let numbers = 0..1 << all.len();
    let mut lines = String::new();
    for number in numbers.clone() {
        let mut line = json!({"kind": "schedule", "id": number.to_string(), "route_key": "r",
            "fire_at": 2_000_000_000_000_u64});
        line.as_object_mut().unwrap().extend(given(number));
        lines += &(line.to_string() + "\n");
    }
    let server = start(path, "served").run();
    let address = server.address.to_string();
    run_with(path, &["import", "-", "--addr", &address], lines.as_bytes()).done();
    stop(server);
    run_with(path, &["import", "-", "--to", "written"], lines.as_bytes()).done();
    run(path, &["repair", "served", "--to", "repaired"]).done();
    for data in ["served", "written", "repaired"] {
        let tasks = exported(path, data);
        assert_eq!(tasks.len(), numbers.len());
        for number in numbers.clone() {
            let expected: serde_json::Map<_, _> = given(number).collect();
            assert_eq!(
                testkit::terms::of(&tasks[&number.to_string()]),
                expected,
                "{data}"
            );
        }
        let server = start(path, data).run();
        let backup = back_up(path, &server);
        stop(server);
        run(path, &["verify", backup.to_str().unwrap()]).done();
    }
}
