//! Which tasks run one after the other, and which at the same time: the words of the command line.

use crate::{TASKS, Task};

/// Between the tasks of two lanes.
pub(crate) const BESIDE: &str = "//";

/// Between phases: the second begins when the first has ended.
pub(crate) const THEN: &str = "then";

/// The tasks of a lane run in order.
type Lane = Vec<&'static Task>;

/// Returns the phases of the command line, each with lanes that run at the same time.
///
/// # Errors
///
/// Names a word that is no task, or the sign beside which a task is missing.
pub(crate) fn phases(words: &[String]) -> Result<Vec<Vec<Lane>>, String> {
    let lanes = |words: &[String]| words.split(|word| word == BESIDE).map(lane).collect();
    words.split(|word| word == THEN).map(lanes).collect()
}

fn lane(names: &[String]) -> Result<Lane, String> {
    if names.is_empty() {
        return Err(format!("no task beside {BESIDE} or {THEN}"));
    }
    let tasks = names.iter().map(|name| {
        let task = TASKS.iter().find(|task| task.name == name);
        task.ok_or_else(|| format!("no task {name:?}"))
    });
    tasks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the tasks: `/` between lanes, and `|` between phases.
    fn planned(line: &str) -> Result<String, String> {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let lane = |lane: &Lane| lane.iter().map(|it| it.name).collect::<Vec<_>>().join(" ");
        let phase = |lanes: &Vec<Lane>| lanes.iter().map(lane).collect::<Vec<_>>().join("/");
        let phases = phases(&words)?;
        Ok(phases.iter().map(phase).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn phases_have_lanes_and_lanes_have_tasks() {
        for (line, expected) in [
            ("lint", "lint"),
            ("lint docs", "lint docs"),
            ("lint // docs msrv", "lint/docs msrv"),
            ("format then lint docs // test", "format|lint docs/test"),
            ("lint // docs then test then msrv", "lint/docs|test|msrv"),
        ] {
            assert_eq!(planned(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_missing_or_unknown_task_is_named() {
        for line in [
            "// lint",
            "lint //",
            "lint then",
            "then",
            "lint // then docs",
        ] {
            let error = planned(line).expect_err(line);
            assert!(error.contains("no task beside //"), "{line}: {error}");
        }
        assert_eq!(planned("lint dosc"), Err("no task \"dosc\"".to_owned()));
    }
}
