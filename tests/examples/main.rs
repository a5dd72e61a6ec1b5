//! The smaller examples as processes.

mod connect;
mod first_token;
mod gateway;
mod grpc;
mod happy_eyeballs;
mod hedge;
// Included for its unit tests.
#[path = "../../examples/happy_eyeballs/interleave.rs"]
mod interleave;
mod no_runtime;
mod quorum;
mod stop_work;

use testkit::{
    example::{run, start},
    process::finish,
};

/// Asserts that the example succeeds when the reader of its output is gone.
fn runs_unread(example: &str, args: &[&str]) {
    let mut child = start(example, args);
    drop(child.stdout.take());
    let ended = finish(child);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// Asserts exit code 2 and one line with each of these parts.
fn refuses(example: &str, args: &[&str], says: &[&str]) {
    let ended = run(example, args);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(2), ""),
        "{args:?}"
    );
    let line = ended.stderr.trim_end();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with(&format!("{example}: ")), "{line}");
    for part in says {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

/// Asserts that `--help` prints the usage.
fn helps(example: &str) {
    let ended = run(example, &["--help"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let usage = format!("usage: {example} [");
    assert!(ended.stdout.contains(&usage), "{}", ended.stdout);
}
