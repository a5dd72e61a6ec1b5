//! Which tasks run one after the other, and which at the same time: the words of the command line.

use crate::{TASKS, Task, package::Repository};

/// The option of the task `package`.
const REPOSITORY: &str = "--repository";

/// Between the tasks of two lanes.
pub(crate) const BESIDE: &str = "//";

/// Between phases: the second begins when the first has ended.
pub(crate) const THEN: &str = "then";

/// The tasks of a lane run in order.
type Lane = Vec<&'static Task>;

/// What the words of the command line ask for.
pub(crate) enum Plan {
    /// Phases, each with lanes that run at the same time.
    Tasks(Vec<Vec<Lane>>),
    /// `package --repository URL`.
    Crates(Repository),
}

/// Reads the command line.
///
/// # Errors
///
/// Names a word that is no task, the sign beside which a task is missing, or what is wrong with the
/// option.
pub(crate) fn plan(words: &[String]) -> Result<Plan, String> {
    let is_option = |word: &String| word.split('=').next() == Some(REPOSITORY);
    if !words.iter().any(is_option) {
        return phases(words).map(Plan::Tasks);
    }
    let words: Vec<_> = words.iter().map(|word| &**word).collect();
    let joined = |word: &'_ str| word.split_once('=').map(|(_, url)| url.to_owned());
    let url = match *words {
        ["package", REPOSITORY] | [REPOSITORY, "package"] | [REPOSITORY] => {
            return Err(format!("{REPOSITORY} has no value: give the URL after it"));
        }
        ["package", REPOSITORY, url] | [REPOSITORY, url, "package"] => Some(url.to_owned()),
        ["package", word] | [word, "package"] => joined(word),
        _ => None,
    };
    let url = url.ok_or_else(|| {
        format!("{REPOSITORY} is for the task package alone: package {REPOSITORY} URL")
    })?;
    Repository::parse(&url).map(Plan::Crates)
}

fn phases(words: &[String]) -> Result<Vec<Vec<Lane>>, String> {
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
    fn repository_is_an_option_of_package_alone() {
        let read = |line: &str| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            match plan(&words) {
                Ok(Plan::Tasks(_)) => Ok(None),
                Ok(Plan::Crates(repository)) => Ok(Some(repository)),
                Err(error) => Err(error),
            }
        };
        let repository = Repository::parse("https://a.example/b/c");
        for line in [
            "package --repository https://a.example/b/c",
            "package --repository=https://a.example/b/c/",
            "--repository https://a.example/b/c package",
        ] {
            assert_eq!(read(line), repository.clone().map(Some), "{line}");
        }
        assert_eq!(read("package lint"), Ok(None));
        for (line, expected) in [
            ("package --repository", "has no value"),
            ("package --repository a", "\"a\" is not the URL"),
            ("package --repository=", "\"\" is not the URL"),
            ("lint --repository https://a.example/b/c", "package alone"),
            (
                "package lint --repository https://a.example/b/c",
                "package alone",
            ),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
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
