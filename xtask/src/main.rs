//! The checks of the workspace. `cargo xtask` lists them; `cargo xtask lint docs` runs two of them.

#[cfg(test)]
mod architecture;
mod checks;
#[cfg(test)]
mod circles;
mod clients;
mod examples;
mod features;
mod fuzz;
mod lane;
#[cfg(test)]
mod log_targets;
#[cfg(test)]
mod manifests;
mod msrv;
mod output;
mod package;
mod plan;
mod process;
mod proofs;
mod report;
#[cfg(test)]
mod scripts;
mod server;
#[cfg(test)]
mod sources;
mod step;
mod targets;
mod tools;
#[cfg(test)]
mod unused_pub;
mod upgrade;
mod workspace;

use std::{env, process::ExitCode};

use plan::{BESIDE, Plan, THEN};
use step::Outcome;

struct Task {
    name: &'static str,
    purpose: &'static str,
    script: Script,
    run: fn() -> Outcome,
}

/// The script that runs a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Script {
    /// `.ci/run`: every change.
    Run,
    /// `.ci/full`: every night, and by hand.
    Full,
    /// `.ci/deep`: by hand.
    Deep,
    /// The workflow alone, as it needs the network.
    Workflow,
}

impl Script {
    const ALL: [Self; 4] = [Self::Run, Self::Full, Self::Deep, Self::Workflow];

    const fn path(self) -> &'static str {
        match self {
            Self::Run => ".ci/run",
            Self::Full => ".ci/full",
            Self::Deep => ".ci/deep",
            Self::Workflow => ".github/workflows/ci.yml",
        }
    }
}

const fn run(name: &'static str, purpose: &'static str, run: fn() -> Outcome) -> Task {
    task(Script::Run, name, purpose, run)
}

const fn full(name: &'static str, purpose: &'static str, run: fn() -> Outcome) -> Task {
    task(Script::Full, name, purpose, run)
}

const fn deep(name: &'static str, purpose: &'static str, run: fn() -> Outcome) -> Task {
    task(Script::Deep, name, purpose, run)
}

const fn task(
    script: Script,
    name: &'static str,
    purpose: &'static str,
    run: fn() -> Outcome,
) -> Task {
    Task {
        name,
        purpose,
        script,
        run,
    }
}

/// In the order of their scripts.
static TASKS: &[Task] = &[
    run("tools", "install programs of crates.io", tools::install),
    run("format", "check the formatting", checks::format),
    run(
        "deny",
        "check licences and sources of dependencies",
        checks::deny,
    ),
    run(
        "build",
        "compile what the tests need",
        workspace::build_tests,
    ),
    run("lint", "run clippy on everything", checks::lint),
    run("test", "run all tests", checks::test),
    run("docs", "build the documentation", checks::docs),
    run("features", "lint combinations of features", features::run),
    run(
        "msrv",
        "compile the libraries with rust-version, without warnings",
        msrv::run,
    ),
    run("no-std", "link and run a no_std program", checks::no_std),
    run(
        "embassy",
        "race on embassy's executor and queues",
        checks::embassy,
    ),
    run(
        "other-runtimes",
        "run races on compio, glommio, monoio and small executors",
        checks::other_runtimes,
    ),
    run("loom", "check interleavings with loom", proofs::loom),
    run("benches", "compile the peers' benchmarks", checks::benches),
    run(
        "counts",
        "check our instruction counts with the recorded rustc",
        checks::counts,
    ),
    run("examples", "run every example", examples::run),
    run("fuzz-check", "compile the fuzz targets", fuzz::check),
    run("clients", "run the Go and Java clients", clients::run),
    run(
        "package",
        "package the crates; build, install, run and purge a Debian package of a dev build",
        package::run,
    ),
    run(
        "targets",
        "run the suite of races on bare metal and the web",
        targets::few,
    ),
    full(
        "simulations",
        "2,000 histories of clusters, and known faults in them",
        proofs::simulations,
    ),
    full(
        "randomized",
        "long random tests of the server",
        proofs::randomized,
    ),
    full(
        "leases",
        "faults in clusters of processes, with the promised times",
        proofs::leases,
    ),
    full(
        "lint-other-runtimes",
        "run clippy on the races on other runtimes",
        checks::lint_other_runtimes,
    ),
    full(
        "default-docs",
        "build the documentation with default features",
        checks::default_docs,
    ),
    full(
        "powerset",
        "lint every pair of features",
        features::powerset,
    ),
    full(
        "peer-counts",
        "check the recorded instruction counts of the peers",
        checks::peer_counts,
    ),
    full(
        "release-package",
        "the same as package, and the image, of a release build; compile the packaged crates",
        package::release,
    ),
    full(
        "all-targets",
        "all of bare metal and the web, Windows, macOS, 32-bit x86",
        targets::all,
    ),
    deep(
        "loom-deep",
        "loom with one more preemption",
        proofs::loom_deep,
    ),
    deep(
        "models",
        "long random tests of the libraries",
        proofs::models,
    ),
    deep("asan", "run tests under AddressSanitizer", proofs::asan),
    deep("histories", "long tests of the server", proofs::histories),
    deep("kills", "kill the server 1,000 times", proofs::kills),
    deep(
        "faults",
        "damage every kind of file of a store",
        proofs::faults,
    ),
    deep(
        "clusters",
        "long histories of clusters, and 500 faults in clusters of processes",
        proofs::clusters,
    ),
    deep(
        "upgrade",
        "take stores and clusters from the last release to this one and back",
        upgrade::run,
    ),
    deep(
        "big-endian",
        "run tests on s390x in QEMU",
        targets::big_endian::run,
    ),
    deep("fuzz", "fuzz each target for some minutes", fuzz::run),
    task(
        Script::Workflow,
        "advisories",
        "look for known vulnerabilities of dependencies",
        checks::advisories,
    ),
];

fn print_help() {
    let mut help = format!("usage: cargo xtask TASK... [{BESIDE} TASK...] [{THEN} TASK...]\n");
    for script in Script::ALL {
        help += &format!("\n{}:\n", script.path());
        for Task { name, purpose, .. } in TASKS.iter().filter(|task| task.script == script) {
            help += &format!("  {name:<19} {purpose}\n");
        }
    }
    help += &format!(
        "\nTasks on both sides of {BESIDE} run at the same time, those after {THEN} when all before \
         it have ended. Only one at a time can compile for the workspace: others wait for it.\n\n\
         `package --repository URL` packages the crates alone, as docs/publishing.md describes.\n"
    );
    output::write(help.as_bytes());
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if words.is_empty() || words.iter().any(|word| word == "--help") {
        print_help();
        return match words.is_empty() {
            true => ExitCode::from(2),
            false => ExitCode::SUCCESS,
        };
    }
    let plan = match plan::plan(&words) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: {error}; `cargo xtask` shows the usage");
            return ExitCode::from(2);
        }
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    if let Err(error) = env::set_current_dir(root) {
        eprintln!("error: {root}: {error}");
        return ExitCode::FAILURE;
    }
    let outcome = match plan {
        Plan::Tasks(phases) => lane::run_all(&phases),
        Plan::Crates(repository) => package::for_registry(&repository),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error}");
            ExitCode::FAILURE
        }
    }
}
