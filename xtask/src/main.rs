//! The checks of the workspace. `cargo xtask` lists them; `cargo xtask lint docs` runs two of them.

mod checks;
mod clients;
mod examples;
mod features;
mod fuzz;
mod msrv;
mod package;
mod proofs;
mod server;
mod step;
mod targets;
mod workspace;

use std::{env, process::ExitCode, time::Instant};

use step::Outcome;

struct Task {
    name: &'static str,
    purpose: &'static str,
    run: fn() -> Outcome,
}

const fn task(name: &'static str, purpose: &'static str, run: fn() -> Outcome) -> Task {
    Task { name, purpose, run }
}

/// The tasks of `.ci/run` first, in its order, then those of `.ci/deep`.
const TASKS: [Task; 26] = [
    task("format", "check the formatting", checks::format),
    task("lint", "run clippy on everything", checks::lint),
    task("test", "run all tests", checks::test),
    task("docs", "build the documentation", checks::docs),
    task("features", "lint combinations of features", features::run),
    task("msrv", "compile the libraries with rust-version", msrv::run),
    task("no-std", "link and run a no_std program", checks::no_std),
    task(
        "embassy",
        "race on embassy's executor and queues",
        checks::embassy,
    ),
    task(
        "other-runtimes",
        "run races on compio, glommio, monoio and small executors",
        checks::other_runtimes,
    ),
    task("loom", "check interleavings with loom", proofs::loom),
    task("benches", "compile the peers' benchmarks", checks::benches),
    task(
        "counts",
        "check instruction counts with the recorded rustc",
        checks::counts,
    ),
    task("examples", "run every example", examples::run),
    task("fuzz-check", "compile the fuzz targets", fuzz::check),
    task("clients", "run the Go and Java clients", clients::run),
    task(
        "package",
        "build, install, run and purge the Debian package",
        package::run,
    ),
    task(
        "targets",
        "run the suite of races on other targets",
        targets::run,
    ),
    task(
        "loom-deep",
        "loom with one more preemption",
        proofs::loom_deep,
    ),
    task(
        "models",
        "long random tests of the libraries",
        proofs::models,
    ),
    task("asan", "run tests under AddressSanitizer", proofs::asan),
    task("histories", "long tests of the server", proofs::histories),
    task("kills", "kill the server 1,000 times", proofs::kills),
    task(
        "faults",
        "damage every kind of file of a store",
        proofs::faults,
    ),
    task(
        "clusters",
        "long histories of clusters, and 500 faults in clusters of processes",
        proofs::clusters,
    ),
    task(
        "big-endian",
        "run tests on s390x in QEMU",
        targets::big_endian::run,
    ),
    task("fuzz", "fuzz each target for some minutes", fuzz::run),
];

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).collect();
    let found: Option<Vec<&Task>> = names
        .iter()
        .map(|name| TASKS.iter().find(|task| task.name == name))
        .collect();
    let Some(tasks) = found.filter(|tasks| !tasks.is_empty()) else {
        eprintln!("usage: cargo xtask TASK...\n\ntasks:");
        for Task { name, purpose, .. } in TASKS {
            eprintln!("  {name:<14} {purpose}");
        }
        return ExitCode::from(2);
    };
    for task in tasks {
        let started = Instant::now();
        if let Err(error) = (task.run)() {
            eprintln!("\nerror: task {}: {error}", task.name);
            return ExitCode::FAILURE;
        }
        let seconds = started.elapsed().as_secs();
        println!("\ntask {} passed in {seconds} s", task.name);
    }
    ExitCode::SUCCESS
}
