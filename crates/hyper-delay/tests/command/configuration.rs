use std::fs;

use serde_json::{Value, json};
use testkit::{Start, process::run};

use crate::process::{alone, program};

#[test]
fn check_config_prints_a_configuration_that_can_be_loaded() {
    let first = alone(&["--check-config"]).done();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.json"), &first).unwrap();
    let again = run(
        &mut program(directory.path(), &["serve", "--check-config"]),
        b"",
    );
    assert!(again.stderr.contains("config.json"), "{again:?}");
    assert_eq!(again.done(), first);
    assert!(!directory.path().join("data").exists(), "no store is made");
}

#[test]
fn check_config_reads_the_named_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine.json"), r#"{"tick_ms": 7}"#).unwrap();
    let mut command = program(directory.path(), &["--check-config"]);
    let printed = run(command.env("HYPER_DELAY_CONFIG", "mine.json"), b"").done();
    assert!(printed.contains(r#""tick_ms": 7"#), "{printed}");
}

#[test]
fn a_bad_configuration_is_an_error_that_names_file_field_value_and_cure() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.json"), r#"{"tick_ms": 0}"#).unwrap();
    for line in [&["--check-config"][..], &["serve"], &[]] {
        let error = run(&mut program(directory.path(), line), b"").failed(1);
        assert_eq!(
            error,
            "error: ./config.json: tick_ms is 0: give milliseconds from 1 to 1000\n"
        );
    }
}

#[test]
fn a_flag_takes_precedence_over_the_environment_and_that_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = r#"{"bind_addr": "127.0.0.1:1", "data_dir": "file", "tick_ms": 7}"#;
    fs::write(directory.path().join("mine.json"), file).unwrap();
    let check = |flags: &[&str], variables: &[(&str, &str)]| {
        let line = [&["serve", "--check-config", "--config", "mine.json"], flags].concat();
        let mut command = program(directory.path(), &line);
        let ended = run(command.envs(variables.iter().copied()), b"");
        let from = ended.stderr.clone();
        let config: Value = serde_json::from_str(&ended.done()).unwrap();
        assert_eq!(config["tick_ms"], 7);
        (
            config["bind_addr"].clone(),
            config["data_dir"].clone(),
            from,
        )
    };
    let variables = [
        ("HYPER_DELAY_BIND_ADDR", "127.0.0.1:2"),
        ("HYPER_DELAY_DATA_DIR", "environment"),
        ("HYPER_DELAY_CONFIG", "missing.json"),
    ];
    let flags = ["--bind", "127.0.0.1:3", "--data-dir", "flag"];

    let (address, folder, from) = check(&[], &[]);
    assert_eq!((address, folder), (json!("127.0.0.1:1"), json!("file")));
    assert_eq!(from, "from mine.json:\n");

    let (address, folder, from) = check(&[], &variables);
    assert_eq!(
        (address, folder),
        (json!("127.0.0.1:2"), json!("environment"))
    );
    assert_eq!(
        from,
        "from mine.json, bind_addr by HYPER_DELAY_BIND_ADDR, data_dir by HYPER_DELAY_DATA_DIR:\n"
    );

    let (address, folder, from) = check(&flags, &variables);
    assert_eq!((address, folder), (json!("127.0.0.1:3"), json!("flag")));
    assert_eq!(
        from,
        "from mine.json, bind_addr by --bind, data_dir by --data-dir:\n"
    );
}

#[test]
fn a_server_uses_its_flags_also_without_the_word_serve() {
    for word in [&["serve"][..], &[]] {
        let directory = tempfile::tempdir().unwrap();
        let flags = ["--data-dir", "mine", "--bind", "127.0.0.1:0"];
        let server = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path())
            .config(json!({"bind_addr": "127.0.0.1:1", "data_dir": "file"}))
            .flags(&[word, &flags].concat())
            .run();
        server.peer().quiet();
        assert!(directory.path().join("mine/store").exists());
        assert!(!directory.path().join("file").exists());
    }
}

#[test]
fn a_bad_flag_is_an_error_that_names_the_value_and_the_cure() {
    let error = alone(&["serve", "--bind", "localhost:7000"]).failed(2);
    assert!(
        error.contains("'localhost:7000' for '--bind <ADDR>'"),
        "{error}"
    );
    assert!(
        error.contains("give an address and a port such as"),
        "{error}"
    );
    let error = alone(&["serve", "--config", "missing.json"]).failed(1);
    assert!(
        error.starts_with("error: missing.json: cannot be read: "),
        "{error}"
    );
    for flag in ["--config", "--data-dir"] {
        let error = alone(&["serve", flag, ""]).failed(2);
        assert!(error.contains(flag), "{error}");
    }
}

#[test]
fn a_bad_variable_does_not_disturb_a_command_that_does_not_use_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut serve = program(directory.path(), &["serve"]);
    let error = run(serve.env("HYPER_DELAY_BIND_ADDR", "here"), b"").failed(1);
    assert!(
        error.starts_with("error: HYPER_DELAY_BIND_ADDR is \"here\": give an address"),
        "{error}"
    );
    let mut verify = program(directory.path(), &["verify", "missing"]);
    let error = run(verify.env("HYPER_DELAY_BIND_ADDR", "here"), b"").failed(1);
    assert!(!error.contains("HYPER_DELAY_BIND_ADDR"), "{error}");
}

#[test]
fn a_cluster_needs_a_binary_with_the_feature() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = json!({
        "etcd": ["http://127.0.0.1:2379"],
        "node": "a",
        "advertise": "127.0.0.1:7002",
        "bind_addr": "127.0.0.1:7002",
        "lease_ms": 2000,
        "tls": null,
        "etcd_tls": null,
        "etcd_user": null,
    });
    let file = json!({ "cluster": cluster }).to_string();
    fs::write(directory.path().join("config.json"), file).unwrap();
    let checked = run(&mut program(directory.path(), &["--check-config"]), b"");
    if cfg!(feature = "cluster") {
        let printed: Value = serde_json::from_str(&checked.done()).unwrap();
        assert_eq!(printed["cluster"], cluster);
    } else {
        let error = checked.failed(1);
        let begin = "error: ./config.json: cluster is {";
        let cure = "this binary was built without `cluster`: build it with `--features cluster`";
        assert!(error.starts_with(begin) && error.contains(cure), "{error}");
    }
}
