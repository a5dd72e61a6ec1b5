//! The scripts and the workflow run the same tasks, and nothing else.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    Script, TASKS,
    plan::{BESIDE, THEN},
};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tasks of a script.
fn tasks(script: Script) -> BTreeSet<&'static str> {
    let tasks = TASKS.iter().filter(|task| task.script == script);
    tasks.map(|task| task.name).collect()
}

/// The tasks that a shell script names after `cargo xtask`.
///
/// # Panics
///
/// If it calls `cargo` for something else, or names a task twice.
fn named(script: &str) -> BTreeSet<String> {
    // A line continues after a backslash.
    let script = script.replace("\\\n", " ");
    let mut named = BTreeSet::new();
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, call)) = line.split_once("cargo ") else {
            continue;
        };
        let names = call.strip_prefix("xtask ");
        let names = names.unwrap_or_else(|| panic!("{line:?}: make it a task"));
        let names = names.split_whitespace();
        for name in names.filter(|name| ![BESIDE, THEN].contains(name)) {
            assert!(named.insert(name.to_owned()), "{name} runs twice");
        }
    }
    named
}

#[test]
fn each_script_runs_its_tasks_and_calls_cargo_for_nothing_else() {
    for script in [Script::Run, Script::Full, Script::Deep] {
        let named = named(&read(script.path()));
        let named: BTreeSet<_> = named.iter().map(|name| &**name).collect();
        same(script.path(), &named, &tasks(script));
    }
    let deep = read(".ci/deep");
    assert!(deep.contains("\n.ci/full\n"), "deep includes full");
}

/// A file runs its tasks and no others.
#[track_caller]
fn same(file: &str, named: &BTreeSet<&str>, tasks: &BTreeSet<&str>) {
    let missing: Vec<_> = tasks.difference(named).collect();
    let others: Vec<_> = named.difference(tasks).collect();
    assert!(
        missing.is_empty() && others.is_empty(),
        "{file}: add {missing:?}, take out {others:?}, or change their script in TASKS"
    );
}

/// The lines of a script or a workflow that are no comments.
fn steps(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.starts_with('#'))
}

/// What the workflow runs by `cargo xtask`: literal names, and those of a matrix.
fn of_workflow(name: &str) -> BTreeSet<String> {
    let text = read(name);
    let mut found = BTreeSet::new();
    let mut in_matrix = false;
    for line in steps(&text) {
        if line == "tasks:" {
            in_matrix = true;
            continue;
        }
        match line.strip_prefix("- ") {
            Some(names) if in_matrix => found.extend(names.split(' ').map(str::to_owned)),
            _ => in_matrix = false,
        }
        if let Some((_, names)) = line.split_once("cargo xtask ") {
            let literal = names.split(' ').take_while(|name| !name.starts_with('$'));
            found.extend(literal.map(str::to_owned));
        }
        let runs = line.split_once("cargo ").map(|(_, words)| words);
        assert!(
            runs.is_none_or(|words| words.starts_with("xtask ")),
            "{name} runs {line:?}: make it a task"
        );
    }
    found
}

/// The package is installed by root.
const PACKAGE: &str =
    "- run: sudo --preserve-env env \"HOME=$HOME\" \"PATH=$PATH\" cargo xtask package";

#[test]
fn workflows_run_the_tasks_of_the_scripts() {
    let mut change = of_workflow(".github/workflows/ci.yml");
    // Tasks install what they need themselves.
    change.insert("tools".to_owned());
    // With the compiler that has recorded them, which the nightly workflow does not have.
    assert!(change.remove("peer-counts"));
    let change: BTreeSet<_> = change.iter().map(|name| &**name).collect();
    let expected = [Script::Run, Script::Workflow].map(tasks);
    let expected = expected.into_iter().flatten().collect();
    same(".github/workflows/ci.yml", &change, &expected);
    let text = read(".github/workflows/ci.yml");
    let lines: Vec<_> = steps(&text).collect();
    for line in [
        "- run: cargo xtask ${{ matrix.tasks }}",
        "- run: cargo xtask counts peer-counts",
        PACKAGE,
    ] {
        let times = lines.iter().filter(|it| **it == line).count();
        assert_eq!(times, 1, "the workflow has {line:?}");
    }
    let nightly = read(".github/workflows/nightly.yml");
    for text in [&text, &nightly] {
        let words = ["continue-on-error:", "if:"];
        let skips = steps(text).find(|line| words.iter().any(|word| line.contains(word)));
        assert_eq!(skips, None, "each step runs, and its failure is one");
    }
    assert!(
        steps(&nightly).any(|line| line == "- run: .ci/full"),
        "the nightly workflow runs .ci/full"
    );
}

/// What a task needs in its environment is in its code, so it is the same everywhere.
#[test]
fn scripts_and_workflows_set_no_variables_of_tasks() {
    // How it prints, and that a build is made once.
    const ALLOWED: [&str; 3] = ["CARGO_TERM_COLOR", "CI", "RUST_BACKTRACE"];
    for path in [
        ".ci/run",
        ".ci/full",
        ".ci/deep",
        ".github/workflows/ci.yml",
        ".github/workflows/nightly.yml",
    ] {
        for name in set_in(&read(path)) {
            let is_allowed = ALLOWED.contains(&&*name);
            assert!(is_allowed, "{path} sets {name}: move it to a task");
        }
    }
}

/// The variables that are set in a script, by `NAME=value`, or in a workflow, by a line `NAME: value`.
fn set_in(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in steps(text) {
        let in_workflow = line.split_once(": ").map(|(name, _)| name);
        let in_script = line.split_whitespace().filter_map(|word| {
            let (name, _) = word.split_once('=')?;
            Some(name)
        });
        let names = in_script.chain(in_workflow);
        found.extend(names.filter(|name| is_variable(name)).map(str::to_owned));
    }
    found
}

fn is_variable(name: &str) -> bool {
    let may_be_in_it = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(may_be_in_it)
}

#[test]
fn variables_are_found() {
    let script = "export CI=true X=1\n# NO=comment\nLOOM_MAX=1 cargo xtask loom";
    let found: Vec<_> = set_in(script).into_iter().collect();
    assert_eq!(found, ["CI", "LOOM_MAX", "X"]);
    let workflow = "env:\n  CARGO_INCREMENTAL: 0\nsed -n 's/RUSTC: /' # NO: comment\n";
    let found: Vec<_> = set_in(workflow).into_iter().collect();
    assert_eq!(found, ["CARGO_INCREMENTAL"]);
}
