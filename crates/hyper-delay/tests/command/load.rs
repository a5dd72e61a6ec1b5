use serde_json::{Value, json};

use crate::process::Server;

#[test]
fn every_mode_ends_and_leaves_no_task() {
    let server = Server::start(json!({}));
    let pid = server.running.id().to_string();
    for (mode, tasks) in [("schedule", 300), ("deliver", 300), ("late", 100)] {
        let line = [
            "bench",
            mode,
            "--json",
            "--tasks",
            "300",
            "--connections",
            "3",
            "--pipeline",
            "16",
            "--rate",
            "100",
            "--seconds",
            "1",
            "--server-pid",
            &pid,
        ];
        let figures: Value = serde_json::from_str(&server.run(&line).done()).unwrap();
        assert_eq!(figures["mode"], mode);
        assert_eq!(figures["tasks"], tasks);
        assert_eq!(figures["early"], 0);
        assert!(
            figures["tasks_per_second"].as_f64() > Some(0.0),
            "{figures}"
        );
        assert!(
            figures["p50_ms"].as_f64() <= figures["max_ms"].as_f64(),
            "{figures}"
        );
        let stats: Value = serde_json::from_str(&server.run(&["stats", "--json"]).done()).unwrap();
        assert_eq!(
            (&stats["waiting"], &stats["parked"]),
            (&0.into(), &0.into()),
            "{mode}: {stats}"
        );
    }
}

#[test]
fn keep_leaves_the_tasks() {
    let server = Server::start(json!({}));
    let table = server
        .run(&[
            "bench",
            "schedule",
            "--tasks",
            "10",
            "--connections",
            "3",
            "--keep",
        ])
        .done();
    assert!(table.contains("schedule to ack, p99"), "{table}");
    let stats: Value = serde_json::from_str(&server.run(&["stats", "--json"]).done()).unwrap();
    assert_eq!(stats["waiting"], 10);
}

#[test]
fn an_unknown_server_pid_is_an_error() {
    let server = Server::start(json!({}));
    let error = server
        .run(&[
            "bench",
            "deliver",
            "--tasks",
            "10",
            "--server-pid",
            "999999999",
        ])
        .failed(1);
    assert!(
        error.contains("the processor time of process 999999999 cannot be read"),
        "{error}"
    );
}
