//! What tasks and their steps took, in a table at the end.

use std::{
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::output::Work;

/// Steps and programs that took less are left out of the table.
const SHOWN: Duration = Duration::from_secs(2);

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

fn rows() -> MutexGuard<'static, Vec<Row>> {
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line of the table.
struct Row {
    /// 0: a task; 1: one of its steps.
    depth: usize,
    name: String,
    time: Duration,
    /// Processor time, of processes that have ended.
    cpu: Duration,
    work: Work,
}

/// A task or a step that runs.
pub(crate) struct Running {
    place: usize,
    begun: Instant,
    cpu: Duration,
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
            name: name.to_owned(),
            time: Duration::ZERO,
            cpu: Duration::ZERO,
            work: Work::default(),
        });
        Self {
            place,
            begun: Instant::now(),
            cpu: children_cpu(),
        }
    }

    /// Ends a step that has done this work. A task has the work of its steps.
    pub(crate) fn ended(self, work: Work) -> Duration {
        let time = self.begun.elapsed();
        let mut rows = rows();
        let steps = rows[self.place + 1..].iter().map(|row| &row.work);
        let [crates, tests] = [
            steps.clone().map(|work| work.crates).sum::<usize>(),
            steps.map(|work| work.tests).sum::<usize>(),
        ];
        let row = &mut rows[self.place];
        row.time = time;
        row.cpu = children_cpu().saturating_sub(self.cpu);
        row.work = Work {
            crates: work.crates + crates,
            tests: work.tests + tests,
            programs: work.programs,
        };
        time
    }
}

/// The processor time of all processes that this one has waited for. Zero where it is not known.
fn children_cpu() -> Duration {
    let ticks = || {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program, in parentheses, can have spaces. User and system time of the
        // children are fields 16 and 17, and the first one after the name is field 3.
        let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13).take(2);
        fields
            .map(|field| field.parse::<u64>().ok())
            .sum::<Option<u64>>()
    };
    // Linux counts in hundredths of a second for programs, whatever its own tick is.
    Duration::from_millis(10 * ticks().unwrap_or(0))
}

/// Prints the table of all tasks so far.
pub(crate) fn print() {
    println!("\n{}", table(&rows()));
}

fn table(rows: &[Row]) -> String {
    let mut table = line(
        "step",
        ["seconds", "processor", "crates", "tests"].map(str::to_owned),
    );
    for row in rows {
        if row.depth > 0 && row.time < SHOWN {
            continue;
        }
        let name = format!("{}{}", "  ".repeat(row.depth), row.name);
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
        seconds(tasks().map(|row| row.time).sum()),
        seconds(tasks().map(|row| row.cpu).sum()),
        count(tasks().map(|row| row.work.crates).sum()),
        count(tasks().map(|row| row.work.tests).sum()),
    ];
    table + &line("all", total)
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
    fn table_has_tasks_their_longer_steps_and_programs_and_a_sum() {
        let row = |depth, name: &str, time, work| Row {
            depth,
            name: name.to_owned(),
            time: Duration::from_secs(time),
            cpu: Duration::from_secs(2 * time),
            work,
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
            row(0, "test", 10, of_task),
            row(1, &long, 9, tests),
            row(1, "true", 1, Work::default()),
            row(0, "docs", 1, Work::default()),
        ];
        let lines = table(&rows);
        let words: Vec<Vec<_>> = lines
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(words[1], ["test", "10", "20", "7", "30"]);
        assert!(words[2][1].contains("...") && words[2][2..] == ["9", "18", "7", "30"]);
        assert_eq!(words[3], ["compiling", "3", "7"]);
        assert_eq!(words[4], ["unit", "tests", "of", "race", "6", "30"]);
        assert_eq!(words[5], ["docs", "1", "2"]);
        assert_eq!(words[6], ["all", "11", "22", "7", "30"]);
        assert!(lines.lines().all(|line| line.len() <= 99), "{lines}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processor_time_of_children_is_counted() {
        let before = children_cpu();
        let mut busy = std::process::Command::new("sh");
        busy.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        assert!(busy.status().expect("there is a shell").success());
        assert!(children_cpu() > before);
    }
}
