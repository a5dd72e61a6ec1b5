//! The server of the last release beside this one.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    step::{Outcome, Step},
    workspace,
};

/// Release 0.3.
const COMMIT: &str = "3f20d9f1";

/// The time for the tests, without what is compiled before.
const LIMIT: Duration = Duration::from_secs(300);

/// Stores, backups and clusters that go from the last release to this one and back.
pub(crate) fn run() -> Outcome {
    let older = build()?;
    let tests = "test --locked --release -p hyper-delay --test";
    let programs = [("keeping", "older_server"), ("cluster", "upgrade")];
    for (program, _) in programs {
        Step::cargo(&format!("{tests} {program} --no-run")).run()?;
    }
    let begun = Instant::now();
    for (program, filter) in programs {
        // One at a time: the load of a cluster is enough for a small machine.
        let line = format!("{tests} {program} {filter} -- --ignored --nocapture --test-threads=1");
        Step::cargo(&line)
            .env("HYPER_DELAY_OLDER", &older)
            .run_within(LIMIT.saturating_sub(begun.elapsed()))?;
    }
    Ok(())
}

/// Builds the server of the last release. Returns its path.
fn build() -> Result<PathBuf, String> {
    let folder = workspace::target()?.join("upgrade");
    let source = folder.join("source");
    match source.exists() {
        true => Step::new("git -C")
            .arg(&source)
            .arg("checkout")
            .arg("--detach"),
        // The folder can have been deleted with the target directory, which git does not know.
        false => Step::new("git worktree add --force --detach").arg(&source),
    }
    .arg(COMMIT)
    .run()?;
    // Cargo takes the packages of both for the same ones, so they have no target directory in common.
    let target = folder.join("target");
    Step::cargo("build --locked --release -p hyper-delay --features cluster --bin hyper-delay")
        .arg("--manifest-path")
        .arg(source.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", &target)
        .run()?;
    Ok(target.join("release").join("hyper-delay"))
}
