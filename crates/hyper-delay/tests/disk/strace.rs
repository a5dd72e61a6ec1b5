//! Runs the server under `strace`.

use std::{
    collections::HashSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use testkit::PATIENCE;

/// If this variable is set, a missing `strace` fails the test.
const REQUIRE: &str = "HYPER_DELAY_REQUIRE_STRACE";

/// Whether `strace` works here. Prints a note if it does not.
pub(crate) fn is_there() -> bool {
    let tried = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = tried.is_ok_and(|status| status.success());
    if !there {
        assert!(
            std::env::var_os(REQUIRE).is_none(),
            "{REQUIRE} is set, and strace does not run: install it, and allow ptrace"
        );
        println!("NOTE: this test checks nothing: strace does not run");
    }
    there
}

/// Returns the command line before the program. With `-D` the tracer is a separate process, so the
/// process id is that of the program and signals reach the program.
pub(crate) fn line(arguments: &[&str]) -> Vec<String> {
    let all = ["strace", "-D", "-f", "-q"];
    let all = all.iter().chain(arguments);
    all.map(|argument| (*argument).to_owned()).collect()
}

/// Returns the trace once all threads of the program have ended.
pub(crate) fn finished(file: &Path) -> String {
    let begun = Instant::now();
    loop {
        let trace = fs::read(file).unwrap();
        let trace = String::from_utf8_lossy(&trace).into_owned();
        let ended = trace.lines().filter(|line| line.contains(" +++ ")).count();
        let threads: HashSet<&str> = trace
            .lines()
            .filter_map(|line| Some(line.split_once(' ')?.0))
            .collect();
        if ended >= threads.len() {
            return trace;
        }
        assert!(begun.elapsed() < PATIENCE, "the trace has no end");
        thread::sleep(Duration::from_millis(20));
    }
}
