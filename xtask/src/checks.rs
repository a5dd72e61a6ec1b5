//! The checks that are a few commands each.

use crate::{
    step::{Outcome, Step},
    tools, workspace,
};

/// The workspace, and the packages outside it.
pub(crate) fn format() -> Outcome {
    Step::cargo("fmt --all --check").run()?;
    for package in workspace::excluded()? {
        let format = format!("fmt --check --manifest-path {package}/Cargo.toml");
        Step::cargo(&format).run()?;
    }
    Ok(())
}

pub(crate) fn lint() -> Outcome {
    for selection in [&*workspace::all_features()?, workspace::CLIENT_APART] {
        let clippy = format!("clippy --locked --all-targets {selection} -- -D warnings");
        Step::cargo(&clippy).run()?;
    }
    Ok(())
}

/// The README's command.
pub(crate) fn test() -> Outcome {
    Step::cargo("test --workspace").run()
}

/// Licences, sources and versions of dependencies. Needs no network.
pub(crate) fn deny() -> Outcome {
    deny_check("bans licenses sources")
}

/// Needs the database of advisories, which is on the network.
pub(crate) fn advisories() -> Outcome {
    deny_check("advisories")
}

fn deny_check(what: &str) -> Outcome {
    Step::cargo(&format!(
        "deny --locked --workspace --all-features check --hide-inclusion-graph {what}"
    ))
    .path_first(&tools::cargo_deny()?)
    .run()
}

/// A link to an item that needs a feature must not break where that feature is off.
pub(crate) fn docs() -> Outcome {
    document(&workspace::all_features()?)?;
    document(workspace::CLIENT_APART)?;
    document("-p hyper-delay --no-default-features")?;
    document("-p race-core --features conformance")
}

/// The same, with default features: of the libraries alone, and with what the programs turn on.
pub(crate) fn default_docs() -> Outcome {
    document(&workspace::libraries_selected()?)?;
    document("--workspace")
}

fn document(crates: &str) -> Outcome {
    Step::cargo(&format!("doc --locked --no-deps {crates}"))
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}

/// A program that does not link if anything below it links `std`.
pub(crate) fn no_std() -> Outcome {
    let program = "run --locked --manifest-path tests/no_std/Cargo.toml";
    workspace::cargo_outside(program)?.run()?;
    workspace::cargo_outside(&format!("{program} --no-default-features"))?.run()
}

/// Races on embassy's executor: with its default timer queue, on the system's clock and tick by
/// tick on a mock clock, and with the generic queue.
pub(crate) fn embassy() -> Outcome {
    let cargo = |command: &str, features: &str| {
        workspace::cargo_outside(&format!(
            "{command} --locked --manifest-path tests/embassy/Cargo.toml {features}"
        ))?
        .run()
    };
    cargo("run", "")?;
    cargo("run", "--features generic")?;
    cargo("test", "--no-default-features --features mock-clock")
}

/// Runtimes that the workspace does not depend on.
const OTHER_RUNTIMES: &str = "--locked --manifest-path tests/other_runtimes/Cargo.toml";

/// monoio without its feature `sync`.
const WITHOUT_SYNC: &str = "--no-default-features --test monoio_without_sync";

pub(crate) fn other_runtimes() -> Outcome {
    workspace::cargo_outside(&format!("test {OTHER_RUNTIMES} -- --nocapture"))?.run()?;
    workspace::cargo_outside(&format!("test {OTHER_RUNTIMES} {WITHOUT_SYNC}"))?.run()
}

/// Clippy checks all those runtimes once more.
pub(crate) fn lint_other_runtimes() -> Outcome {
    for targets in ["--all-targets", WITHOUT_SYNC] {
        let clippy = format!("clippy {OTHER_RUNTIMES} {targets} -- -D warnings");
        workspace::cargo_outside(&clippy)?.run()?;
    }
    Ok(())
}

/// The benchmarks of the workspace are compiled by `lint`; these are in a package of their own.
pub(crate) fn benches() -> Outcome {
    let check = "check --locked --benches --manifest-path benches/peers/Cargo.toml";
    workspace::cargo_outside(check)?.run()
}

/// Fails if a target of ours is missed. Counts of another version of rustc than the recorded one are
/// printed and not judged.
pub(crate) fn counts() -> Outcome {
    count("races")?;
    count("sets ours")?;
    Step::cargo("bench --locked -p hyper-delay-engine --bench instructions").run()
}

/// Fails if the count of a peer is not the recorded one.
pub(crate) fn peer_counts() -> Outcome {
    count("sets")
}

fn count(what: &str) -> Outcome {
    Step::cargo(&format!(
        "bench --locked -p race-launch --bench instructions -- {what}"
    ))
    .run()
}
