//! Interleavings, random scripts and sanitizers.

use crate::{
    step::{Outcome, Step},
    workspace,
};

/// The wakers and the poller, and the timers and their thread, with up to two preemptions.
pub(crate) fn loom() -> Outcome {
    loom_up_to("2")
}

pub(crate) fn loom_deep() -> Outcome {
    loom_up_to("3")
}

fn loom_up_to(preemptions: &str) -> Outcome {
    let target = workspace::target()?.join("loom");
    for library in ["race-core --features alloc", "race-thread"] {
        Step::cargo(&format!("test --locked --release --lib -p {library} loom"))
            .env("RUSTFLAGS", "--cfg loom")
            .env("LOOM_MAX_PREEMPTIONS", preemptions)
            .env("CARGO_TARGET_DIR", &target)
            .run()?;
    }
    Ok(())
}

/// Random scripts against a model, the simulator and the peers.
pub(crate) fn models() -> Outcome {
    for (cases, test) in [
        ("50000", "--test attempts"),
        ("2000000", "--test race simulated"),
        ("100000", "--test wheel"),
        ("1000000", "-p race-connect --test v3 model"),
        ("1000000", "-p race-connect --test services random"),
        ("1000000", "-p race-object-store --test bodies"),
        ("1000000", "-p race-tower --test http random"),
    ] {
        Step::cargo(&format!("test --locked --release {test}"))
            .env("PROPTEST_CASES", cases)
            .run()?;
    }
    Ok(())
}

/// Tests that start other programs are left out: the sanitizer does not see those.
pub(crate) fn asan() -> Outcome {
    let target = workspace::target()?.join("asan");
    let host = workspace::host()?;
    for tests in [
        "-p race-core --all-features --lib",
        "-p race-tokio -p race-async-io -p race-smol --tests",
        "--test race --test attempts --test runtimes --test allocations",
    ] {
        Step::cargo(&format!("+nightly test --locked --target {host} {tests}"))
            .env("RUSTFLAGS", "-Zsanitizer=address")
            .env("CARGO_TARGET_DIR", &target)
            .run()?;
    }
    Ok(())
}

/// As many histories of clusters as find faults that `.ci/run` can miss. A planted fault whose known
/// seed does no more is looked for.
pub(crate) fn simulations() -> Outcome {
    Step::cargo("test --locked --release -p hyper-delay-cluster --lib simulation")
        .env("CLUSTER_SEEDS", "2000")
        .env("CLUSTER_SEARCH", "5000")
        .run()
}

/// The random tests of the server with more cases, more kills, and faults in every kind of file.
pub(crate) fn randomized() -> Outcome {
    Step::cargo("test --locked --release -p hyper-delay-engine --lib scheduler::")
        .env("PROPTEST_CASES", "20000")
        .env("HYPER_DELAY_STEPS", "5")
        .run()?;
    let server = workspace::server_selected()?;
    Step::cargo(&format!(
        "test --locked --release {server} --lib -- --skip scheduler:: --skip simulation::"
    ))
    .env("PROPTEST_CASES", "5000")
    .env("HYPER_DELAY_FAULTS", "all")
    .run()?;
    Step::cargo("test --locked --release -p hyper-delay --test kill")
        .env("HYPER_DELAY_KILLS", "100")
        .run()?;
    damage("1")
}

/// The times without service that docs/cluster.md promises, on a machine that does nothing else.
pub(crate) fn leases() -> Outcome {
    Step::cargo("test --locked --release -p hyper-delay --test cluster -- --nocapture")
        .env("CLUSTER_FAULTS", "100")
        .env("CLUSTER_JUDGES_LEASES", "1")
        .run()
}

/// Tests of the server that take a million tasks, and random histories with power failures.
pub(crate) fn histories() -> Outcome {
    let server = workspace::server_selected()?;
    let tests = format!("test --locked --release {server} --lib");
    Step::cargo(&format!("{tests} -- --ignored")).run()?;
    Step::cargo("test --locked --release -p hyper-delay --test limits -- --ignored").run()?;
    Step::cargo(&tests).env("PROPTEST_CASES", "20000").run()?;
    Step::cargo("test --locked --release -p hyper-delay-engine --lib scheduler::tests::random")
        .env("PROPTEST_CASES", "1000000")
        .run()
}

pub(crate) fn kills() -> Outcome {
    Step::cargo("test --locked --release -p hyper-delay --test kill -- --nocapture")
        .env("HYPER_DELAY_KILLS", "1000")
        .run()
}

pub(crate) fn faults() -> Outcome {
    damage("all")
}

/// Damages files of stores: each kind with this many flipped bits, and others in proportion. The
/// other tests of disks are longer, too.
fn damage(flips: &str) -> Outcome {
    Step::cargo("test --locked --release -p hyper-delay --test disk -- --nocapture")
        .env("HYPER_DELAY_FAULTS", flips)
        .run()
}

/// Simulated histories of clusters, and faults in clusters of processes.
pub(crate) fn clusters() -> Outcome {
    Step::cargo("test --locked --release -p hyper-delay-cluster --lib no_history_breaks_a_promise")
        .env("CLUSTER_SEEDS", "300000")
        .run()?;
    Step::cargo("test --locked --release -p hyper-delay --test cluster -- --nocapture")
        .env("CLUSTER_FAULTS", "500")
        .run()
}
