//! What a command prints: forwarded, and counted.

use std::{
    io::{self, BufRead as _, BufReader, PipeReader, Write as _},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use crate::lane;

/// What a command has done, as far as Cargo and the test harness say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Crates that were compiled, checked or documented.
    pub(crate) crates: usize,
    /// Tests that passed.
    pub(crate) tests: usize,
    /// The programs with tests, in order, and the documentation tests of each crate.
    pub(crate) programs: Vec<Program>,
}

/// A program with tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// When it began, and when the next one did, from the begin of the step on.
    pub(crate) time: [Duration; 2],
    pub(crate) tests: usize,
}

impl Work {
    /// Adds tests from output that was not forwarded.
    pub(crate) fn add(&mut self, output: &str) {
        self.tests += passed_in(output);
    }

    /// Counts a line that was printed `at` this time of the step. Returns whether it names a crate
    /// and says nothing else.
    fn line(&mut self, line: &str, at: Duration) -> bool {
        let line = line.trim();
        if let Some(name) = program(line) {
            self.end(at);
            let time = [at; 2];
            let tests = 0;
            self.programs.push(Program { name, time, tests });
        }
        if let Some(tests) = passed(line) {
            self.tests += tests;
            if let Some(program) = self.programs.last_mut() {
                program.tests += tests;
            }
        }
        let names_a_crate = names_a_crate(line);
        self.crates += usize::from(names_a_crate);
        names_a_crate
    }

    /// The program before ends.
    fn end(&mut self, at: Duration) {
        if let Some(program) = self.programs.last_mut() {
            program.time[1] = at;
        }
    }
}

/// Whether Cargo says that it begins with a crate, such as `Compiling race v0.3.0`.
fn names_a_crate(line: &str) -> bool {
    let mut words = line.split(' ');
    let verb = words.next();
    let is_verb = ["Compiling", "Checking", "Documenting"]
        .iter()
        .any(|it| verb == Some(it));
    let version = words.nth(1).and_then(|word| word.strip_prefix('v'));
    is_verb && version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the name of a program with tests, from the line with which Cargo announces it.
fn program(line: &str) -> Option<String> {
    if let Some(library) = line.strip_prefix("Doc-tests ") {
        return Some(format!("documentation of {library}"));
    }
    let (what, file) = line.strip_prefix("Running ")?.split_once(" (")?;
    let (_, file) = file.strip_suffix(')')?.rsplit_once("deps/")?;
    let (name, _hash) = file.rsplit_once('-')?;
    Some(match what.starts_with("unittests ") {
        true => format!("unit tests of {name}"),
        false => name.to_owned(),
    })
}

/// Returns how many tests passed.
pub(crate) fn passed_in(output: &str) -> usize {
    output.lines().filter_map(passed).sum()
}

/// Returns how many tests of a program passed.
fn passed(line: &str) -> Option<usize> {
    let (_, result) = line.split_once("test result: ")?;
    let (before, _) = result.split_once(" passed;")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Prints an empty line and one of its own.
pub(crate) fn say(line: &str) {
    write(format!("\n{}{line}\n", start(lane::prefix())).as_bytes());
}

/// What a line begins with.
fn start(prefix: &str) -> String {
    match prefix {
        "" => String::new(),
        prefix => format!("{prefix:<16}"),
    }
}

/// Prints a line of a process of the task with this prefix.
pub(crate) fn forwarded(prefix: &str, line: &str) {
    print(prefix, format!("{line}\n").as_bytes());
}

fn print(prefix: &str, line: &[u8]) {
    write(&[start(prefix).as_bytes(), line].concat());
}

/// A closed standard output ends nothing.
pub(crate) fn write(text: &[u8]) {
    let _ = io::stdout().write_all(text);
}

/// Why the output of an ended process does not end.
pub(crate) const STILL_RUNS: &str = "a process that it has started still runs";

/// The output of a process that is still read.
pub(crate) struct Forwarding(Receiver<Work>);

/// Prints each line, except those that only name a crate, and counts them, on a thread of its own.
pub(crate) fn forward(pipe: PipeReader) -> Forwarding {
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    let prefix = lane::prefix();
    thread::spawn(move || {
        let mut lines = BufReader::new(pipe);
        let (mut work, mut line) = (Work::default(), Vec::new());
        while let Ok(1..) = lines.read_until(b'\n', &mut line) {
            if !work.line(&String::from_utf8_lossy(&line), begun.elapsed()) {
                print(prefix, &line);
            }
            line.clear();
        }
        work.end(begun.elapsed());
        let _ = sender.send(work);
    });
    Forwarding(receiver)
}

impl Forwarding {
    /// Waits for the end of the output, which comes `within` this time, with the end of the last
    /// process that has it.
    ///
    /// # Errors
    ///
    /// If a process that the ended one has started still runs.
    pub(crate) fn end(self, within: Duration) -> Result<Work, &'static str> {
        let end = self.0.recv_timeout(within);
        end.map_err(|_| STILL_RUNS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: [(u64, &str); 12] = [
        (1, "   Compiling memchr v2.8.3"),
        (1, "    Checking race-core v0.3.0 (crates/race-core)"),
        (2, "warning: unused variable"),
        (
            3,
            "    Finished `test` profile [unoptimized] target(s) in 3s",
        ),
        (
            3,
            "     Running unittests src/lib.rs (target/debug/deps/race_core-8c0d1f)\n",
        ),
        (4, "test compiling_is_no_crate ... ok"),
        (
            5,
            "test result: ok. 12 passed; 0 failed; 0 ignored; finished in 2.00s",
        ),
        (
            5,
            "     Running tests/race/main.rs (/a-b/debug/deps/race-8109f)",
        ),
        (
            9,
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 4.00s",
        ),
        (9, "   Doc-tests race"),
        (
            10,
            "test result: ok. 3 passed; 0 failed; 0 ignored; finished in 1.00s",
        ),
        (
            11,
            "test result: ok. 4 passed; 0 failed; 0 ignored; finished in 1.00s",
        ),
    ];

    #[test]
    fn output_that_does_not_end_is_an_error() {
        let (reader, _writer) = io::pipe().expect("a pipe can be made");
        let error = forward(reader).end(Duration::from_millis(1));
        assert!(error.expect_err("it is open").contains("still runs"));
        let (reader, mut writer) = io::pipe().expect("a pipe can be made");
        writer
            .write_all(b"   Compiling a v1.0.0\nChecking the store\n")
            .expect("it is read");
        drop(writer);
        let work = forward(reader)
            .end(Duration::from_secs(60))
            .expect("it ends");
        assert_eq!(work.crates, 1);
    }

    #[test]
    fn crates_and_tests_are_counted_and_programs_are_timed() {
        let (mut work, mut shown) = (Work::default(), Vec::new());
        for (second, line) in OUTPUT {
            if !work.line(line, Duration::from_secs(second)) {
                shown.push(line);
            }
        }
        work.end(Duration::from_secs(11));
        assert_eq!((work.crates, work.tests, shown.len()), (2, 20, 10));
        let programs: Vec<_> = work
            .programs
            .iter()
            .map(|it| (&*it.name, it.time.map(|time| time.as_secs()), it.tests))
            .collect();
        assert_eq!(
            programs,
            [
                ("unit tests of race_core", [3, 5], 12),
                ("race", [5, 9], 1),
                ("documentation of race", [9, 11], 7),
            ]
        );
    }
}
