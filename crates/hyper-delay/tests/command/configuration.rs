use std::fs;

use testkit::process::run;

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
