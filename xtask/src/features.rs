//! Combinations of features. All features together are the `lint` task.

mod pairs;

use crate::{
    step::{Outcome, Step},
    tools, workspace,
};

/// Dependencies of the server that only its features `cli` and `cluster` need.
const OPTIONAL: [&str; 8] = [
    "clap",
    "hdrhistogram",
    "hyper-delay-client",
    "hyper-delay-etcd",
    "indicatif",
    "tikv-jemallocator",
    "tonic",
    "tracing-subscriber",
];

/// Each feature alone, none, and the pairs that the code mentions together.
pub(crate) fn run() -> Outcome {
    let libraries = workspace::libraries_selected()?;
    // All features together are linted by `lint`, and `internals` of the server below.
    let each = "--each-feature --exclude-all-features --exclude-features";
    hack(&format!("{libraries} {each} default"))?;
    hack(&format!("-p hyper-delay {each} default,internals"))?;
    for (library, features) in pairs::PAIRS {
        Step::cargo(&format!(
            "clippy --locked -p {library} --no-default-features --features {features} -- \
             -D warnings"
        ))
        .run()?;
    }
    Step::cargo("test --locked -p race-core --features test-util,portable-atomic").run()?;
    Step::cargo(&format!("test --locked {}", workspace::CLIENT_APART)).run()?;
    // The combinations above leave out tests, for which a dev-dependency turns `internals` on.
    Step::cargo(
        "clippy --locked -p hyper-delay --no-default-features --all-targets -- -D warnings",
    )
    .run()?;
    embedding()?;
    pure_crates()?;
    no_protoc()?;
    no_runtime()
}

/// Every pair of features. No item of the workspace depends on more than two.
pub(crate) fn powerset() -> Outcome {
    let libraries = workspace::libraries_selected()?;
    hack(&format!(
        "{libraries} -p hyper-delay --feature-powerset --depth 2 --exclude-features default"
    ))
}

fn hack(combinations: &str) -> Outcome {
    Step::cargo(&format!(
        "hack clippy --locked {combinations} -- -D warnings"
    ))
    .path_first(&tools::cargo_hack()?)
    .run()
}

/// What a library does not depend on unless a feature asks for it.
const RUNTIMES: [&str; 6] = [
    "async-io",
    "async-net",
    "embassy-time-driver",
    "hyper",
    "smol",
    "tokio",
];

fn no_runtime() -> Outcome {
    for library in workspace::libraries()? {
        // The adapters and the client are for a runtime.
        if [
            "race-async-io",
            "race-embassy",
            "race-smol",
            "race-tokio",
            "hyper-delay-client",
        ]
        .contains(&&*library)
        {
            continue;
        }
        let pulled = dependencies(&library)?.into_iter();
        let pulled: Vec<_> = pulled.filter(|it| RUNTIMES.contains(&&**it)).collect();
        if !pulled.is_empty() {
            return Err(format!(
                "{library} without default features depends on {}: make it optional",
                pulled.join(", ")
            ));
        }
    }
    Ok(())
}

/// The names of what a crate depends on without its default features.
fn dependencies(package: &str) -> Result<Vec<String>, String> {
    tree(&format!("{package} --no-default-features"))
}

/// The names of what a selection of a crate and its features depends on.
fn tree(selection: &str) -> Result<Vec<String>, String> {
    let tree = Step::cargo(&format!(
        "tree --locked -p {selection} --edges normal,build --prefix none"
    ));
    let tree = tree
        .output()
        .ok_or_else(|| format!("cargo tree -p {selection} failed"))?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}

/// What the crates of the server below its sockets do not depend on.
const IMPURE: [&str; 6] = ["axum", "fjall", "hyper", "mio", "rustls", "tokio"];

/// The engine and the crates below it have no sockets, no runtime and no disk.
fn pure_crates() -> Outcome {
    for name in ["protocol", "config", "store", "engine"] {
        let names = tree(&format!("hyper-delay-{name} --all-features"))?;
        let impure: Vec<_> = names.iter().filter(|it| IMPURE.contains(&&***it)).collect();
        if !impure.is_empty() {
            return Err(format!(
                "hyper-delay-{name} depends on {impure:?}: move what needs them"
            ));
        }
    }
    Ok(())
}

/// The build of the server needs no `protoc`.
fn no_protoc() -> Outcome {
    let names = tree("hyper-delay --all-features")?;
    match names.iter().any(|name| name == "prost-build") {
        true => Err("hyper-delay depends on prost-build, which runs protoc".to_owned()),
        false => Ok(()),
    }
}

/// A program that embeds the server without its default features compiles nothing of them.
fn embedding() -> Outcome {
    let names = dependencies("hyper-delay")?.into_iter();
    let unneeded: Vec<_> = names.filter(|it| OPTIONAL.contains(&&**it)).collect();
    match unneeded.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "hyper-delay without default features depends on {}: make it optional",
            unneeded.join(", ")
        )),
    }
}
