//! Every example of the workspace, found in the file system, with default arguments.

use std::{path::Path, time::Duration};

use crate::{
    output,
    step::{Outcome, Step},
    workspace,
};

/// The time for one example, on any machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The time for the example of a cluster, which ends itself earlier, with all that it has started.
const CLUSTER_LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn run() -> Outcome {
    workspace::build_tests()?;
    let built = workspace::target()?.join("debug/examples");
    let mut packages = vec![".".into()];
    packages.extend(workspace::folders(Path::new("crates"))?);
    let mut count = 0;
    for package in packages {
        for name in examples(&package)? {
            let program = built.join(&name);
            Step::program(&program, "").run_within(LIMIT)?;
            count += 1;
        }
    }
    output::say(&format!("{count} examples"));
    if count == 0 {
        return Err("no example was found".into());
    }
    cluster()
}

/// The script that starts a cluster. It needs etcd.
fn cluster() -> Outcome {
    let program = workspace::target()?.join("debug/hyper-delay");
    let example = Step::new("examples/cluster/run").env("HYPER_DELAY", program);
    example.run_within(CLUSTER_LIMIT)
}

/// The names of `examples/NAME.rs` and `examples/NAME/main.rs`, as Cargo finds them.
fn examples(package: &Path) -> Result<Vec<String>, String> {
    let folder = package.join("examples");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in workspace::entries(&folder)? {
        let is_file = entry.extension().is_some_and(|extension| extension == "rs");
        if is_file || entry.join("main.rs").exists() {
            let name = entry.file_stem().unwrap_or_default();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
