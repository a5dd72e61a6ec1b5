//! What tasks and their steps took, in a table at the end.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    lane,
    output::{self, Work},
    step::Outcome,
};

/// Steps and programs that took less are left out of the table, unless they failed.
const SHOWN: Duration = Duration::from_secs(2);

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

fn rows() -> MutexGuard<'static, Vec<Row>> {
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line of the table.
struct Row {
    /// 0: a task; 1: one of its steps.
    depth: usize,
    /// Tasks of other lanes may run at the same time.
    lane: usize,
    name: String,
    time: Duration,
    /// Processor time.
    cpu: Duration,
    work: Work,
    end: End,
}

/// How a task or a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    Failed,
    /// Since another one has failed.
    Stopped,
}

impl End {
    /// The end of what had this outcome, of which others do not know yet.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Ok(()) => Self::Passed,
            Err(_) if lane::has_failed() => Self::Stopped,
            Err(_) => Self::Failed,
        }
    }

    /// What the table says of it beside the name.
    const fn mark(self) -> &'static str {
        match self {
            Self::Passed => "",
            Self::Failed => " FAILED",
            Self::Stopped => " stopped",
        }
    }
}

/// A task or a step that runs.
pub(crate) struct Running {
    place: usize,
    begun: Instant,
}

impl Running {
    /// Begins a task.
    pub(crate) fn task(name: &str) -> Self {
        Self::at(0, name)
    }

    /// Begins a step of the task.
    pub(crate) fn begin(shown: &str) -> Self {
        Self::at(1, shown)
    }

    fn at(depth: usize, name: &str) -> Self {
        let mut rows = rows();
        let place = rows.len();
        rows.push(Row {
            depth,
            lane: lane::number(),
            name: name.to_owned(),
            time: Duration::ZERO,
            cpu: Duration::ZERO,
            work: Work::default(),
            end: End::Passed,
        });
        let begun = Instant::now();
        Self { place, begun }
    }

    /// Ends a step that has done this work in this processor time.
    pub(crate) fn step_ended(self, work: Work, cpu: Duration, end: End) {
        let row = &mut rows()[self.place];
        (row.time, row.cpu, row.work, row.end) = (self.begun.elapsed(), cpu, work, end);
    }

    /// Ends a task, which has done the work of its steps. Returns the time it took.
    pub(crate) fn task_ended(self, end: End) -> Duration {
        let mut rows = rows();
        let (task, steps) = rows[self.place..].split_first_mut().expect("it was added");
        let steps = || steps.iter().filter(|step| step.lane == task.lane);
        task.cpu = steps().map(|step| step.cpu).sum();
        task.work.crates = steps().map(|step| step.work.crates).sum();
        task.work.tests = steps().map(|step| step.work.tests).sum();
        (task.time, task.end) = (self.begun.elapsed(), end);
        task.time
    }
}

/// Prints the table of all tasks, which took this time.
pub(crate) fn print(whole: Duration) {
    output::write(format!("\n{}\n", table(&rows(), whole)).as_bytes());
}

/// `whole` is the time of all tasks, some of which ran at the same time.
fn table(rows: &[Row], whole: Duration) -> String {
    let mut table = line(
        "step",
        ["seconds", "processor", "crates", "tests"].map(str::to_owned),
    );
    let mut rows: Vec<_> = rows.iter().collect();
    // The steps of a task follow it, though other tasks ran at the same time.
    rows.sort_by_key(|row| row.lane);
    for row in &rows {
        if row.depth > 0 && row.time < SHOWN && row.end == End::Passed {
            continue;
        }
        let (indent, mark) = ("  ".repeat(row.depth), row.end.mark());
        let name = format!("{indent}{}{mark}", command(&row.name));
        let Work { crates, tests, .. } = row.work;
        let numbers = [
            seconds(row.time),
            seconds(row.cpu),
            count(crates),
            count(tests),
        ];
        table += &line(&name, numbers);
        if let Some(first) = row.work.programs.first() {
            let compiling = [
                seconds(first.time[0]),
                String::new(),
                count(crates),
                String::new(),
            ];
            table += &line("    compiling", compiling);
        }
        for program in &row.work.programs {
            let time = program.time[1].saturating_sub(program.time[0]);
            if time >= SHOWN {
                let [none, crates] = [const { String::new() }; 2];
                let numbers = [seconds(time), none, crates, count(program.tests)];
                table += &line(&format!("    {}", program.name), numbers);
            }
        }
    }
    let tasks = || rows.iter().filter(|row| row.depth == 0);
    let total = [
        seconds(whole),
        seconds(tasks().map(|row| row.cpu).sum()),
        count(tasks().map(|row| row.work.crates).sum()),
        count(tasks().map(|row| row.work.tests).sum()),
    ];
    table + &line("all", total)
}

/// A step without the variables before its command.
fn command(shown: &str) -> &str {
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let mut rest = shown;
    while let Some((_, after)) = rest.split_once('=').filter(|(name, _)| is_name(name)) {
        // A value with spaces is quoted.
        let value_end = if after.starts_with('"') { "\" " } else { " " };
        let Some((_, after)) = after.split_once(value_end) else {
            break;
        };
        rest = after;
    }
    rest
}

/// One line; a name that is too long loses its middle.
fn line(name: &str, numbers: [String; 4]) -> String {
    const WIDTH: usize = 64;
    let letters = name.chars().count();
    let name = match letters > WIDTH {
        true => {
            let begin: String = name.chars().take(WIDTH / 2).collect();
            let end: String = name.chars().skip(letters + WIDTH / 2 + 3 - WIDTH).collect();
            format!("{begin}...{end}")
        }
        false => name.to_owned(),
    };
    let [time, cpu, crates, tests] = numbers;
    let line = format!("{name:<WIDTH$}{time:>9}{cpu:>11}{crates:>8}{tests:>7}");
    format!("{}\n", line.trim_end())
}

fn seconds(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64())
}

/// Nothing instead of 0.
fn count(number: usize) -> String {
    match number {
        0 => String::new(),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Program;

    #[test]
    fn command_of_a_step_is_shown_without_its_variables() {
        for (shown, expected) in [
            ("cargo doc a=b", "cargo doc a=b"),
            ("A_B=x RUSTFLAGS=\"-D warnings\" cargo doc", "cargo doc"),
            ("A=\"x y\" (cd b) run", "(cd b) run"),
            ("lint", "lint"),
            ("X_WASM32_RUNNER=a/b cargo test", "cargo test"),
        ] {
            assert_eq!(command(shown), expected);
        }
    }

    #[test]
    fn table_has_tasks_their_longer_steps_and_programs_and_a_sum() {
        let row = |lane, depth, name: &str, time, work| Row {
            depth,
            lane,
            name: name.to_owned(),
            time: Duration::from_secs(time),
            cpu: Duration::from_secs(2 * time),
            work,
            end: End::Passed,
        };
        let tests = Work {
            crates: 7,
            tests: 30,
            programs: vec![Program {
                name: "unit tests of race".to_owned(),
                time: [3, 9].map(Duration::from_secs),
                tests: 30,
            }],
        };
        let of_task = Work {
            programs: Vec::new(),
            ..tests.clone()
        };
        let long = format!("cargo {}", "x".repeat(100));
        let rows = [
            row(0, 0, "test", 10, of_task),
            row(1, 0, "docs", 1, Work::default()),
            row(0, 1, &long, 9, tests),
            row(0, 1, "true", 1, Work::default()),
            Row {
                end: End::Failed,
                ..row(0, 1, "false", 0, Work::default())
            },
        ];
        let lines = table(&rows, Duration::from_secs(10));
        let words: Vec<Vec<_>> = lines
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(words[1], ["test", "10", "20", "7", "30"]);
        assert!(words[2][1].contains("...") && words[2][2..] == ["9", "18", "7", "30"]);
        assert_eq!(words[3], ["compiling", "3", "7"]);
        assert_eq!(words[4], ["unit", "tests", "of", "race", "6", "30"]);
        assert_eq!(words[5], ["false", "FAILED", "0", "0"]);
        assert_eq!(words[6], ["docs", "1", "2"]);
        assert_eq!(words[7], ["all", "10", "22", "7", "30"]);
        assert!(lines.lines().all(|line| line.len() <= 99), "{lines}");
    }
}
