//! The scripts and the workflow run the same tasks, and nothing else.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{Script, TASKS};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tasks of a script, in the order of the table.
fn tasks(script: Script) -> Vec<&'static str> {
    let tasks = TASKS.iter().filter(|task| task.script == script);
    tasks.map(|task| task.name).collect()
}

/// The tasks that a shell script names after `cargo xtask`. A line may go on after a backslash.
fn named(script: &str) -> Vec<String> {
    let script = script.replace("\\\n", " ");
    let lines = script
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let calls = lines.filter_map(|line| line.split_once("cargo xtask"));
    calls
        .flat_map(|(_, names)| {
            names
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn each_script_names_its_tasks_in_order_and_calls_cargo_for_nothing_else() {
    for script in [Script::Run, Script::Full, Script::Deep] {
        let text = read(script.path());
        assert_eq!(named(&text), tasks(script), "{}", script.path());
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        let calls = code.filter(|line| line.contains("cargo ")).count();
        assert_eq!(calls, 1, "{}: only `cargo xtask`", script.path());
    }
    assert!(
        read(".ci/deep").contains("\n.ci/full\n"),
        "deep includes full"
    );
}

/// What the workflow runs by `cargo xtask`: literal names, and those of a matrix.
fn of_workflow(name: &str) -> BTreeSet<String> {
    let text = read(name);
    let mut found = BTreeSet::new();
    let mut in_matrix = false;
    for line in text.lines().map(str::trim) {
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
        assert!(
            !line.starts_with("- run: cargo ") || line.starts_with("- run: cargo xtask "),
            "{name} runs {line:?}: make it a task"
        );
    }
    found
}

#[test]
fn workflows_run_the_tasks_of_the_scripts() {
    let expected = |scripts: &[Script]| -> BTreeSet<String> {
        let tasks = scripts.iter().flat_map(|script| tasks(*script));
        tasks.map(str::to_owned).collect()
    };
    let mut change = of_workflow(".github/workflows/ci.yml");
    // Tasks install what they need themselves.
    change.insert("tools".to_owned());
    assert_eq!(change, expected(&[Script::Run, Script::Workflow]));
    assert!(
        read(".github/workflows/nightly.yml").contains("- run: .ci/full\n"),
        "the nightly workflow runs .ci/full"
    );
}

/// What a task needs in its environment is in its code, so it is the same everywhere.
#[test]
fn scripts_and_workflows_set_no_variables_of_tasks() {
    for path in [
        ".ci/run",
        ".ci/full",
        ".ci/deep",
        ".github/workflows/ci.yml",
        ".github/workflows/nightly.yml",
    ] {
        let text = read(path);
        for prefix in [
            "HYPER_DELAY_",
            "RACE_",
            "CLUSTER_",
            "PROPTEST_",
            "CARGO_PROFILE",
            "RUSTFLAGS",
        ] {
            assert!(
                !text.contains(prefix),
                "{path} has {prefix}: move it to a task"
            );
        }
    }
}
