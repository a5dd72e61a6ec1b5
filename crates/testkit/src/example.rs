//! Examples of the workspace as processes.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::process::{self, Ended};

/// Runs an example to its end.
#[must_use]
#[track_caller]
pub fn run(example: &str, args: &[&str]) -> Ended {
    process::finish(start(example, args))
}

/// Starts an example with piped output.
#[must_use]
#[track_caller]
pub fn start(example: &str, args: &[&str]) -> Child {
    let path = built(example);
    Command::new(&path)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The program of an example. `cargo test` builds it; `cargo test --test NAME` does not, so an old
/// program is an error.
#[track_caller]
fn built(example: &str) -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("target/<profile>/deps/test");
    let file = format!("{example}{}", env::consts::EXE_SUFFIX);
    let path = profile.join("examples").join(file);
    let changed = |path: PathBuf| path.metadata().and_then(|it| it.modified()).ok();

    let testkit = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = testkit.join("../../examples").join(example);
    let sources = folder.read_dir().expect("an example has a folder");
    let sources = sources.flatten().map(|source| source.path());
    let newest = sources
        .chain([testkit.join("src/output.rs")])
        .filter_map(changed)
        .max();
    assert!(
        changed(path.clone()) >= newest,
        "{path:?} is out of date: run `cargo build --example {example}` first"
    );
    path
}
