//! Combinations of features. All features together are the `lint` task.

use crate::{
    step::{Outcome, Step},
    workspace,
};

/// Dependencies of the server that only its feature `cli` needs.
const COMMAND_LINE: [&str; 6] = [
    "clap",
    "hdrhistogram",
    "hyper-delay-client",
    "indicatif",
    "tikv-jemallocator",
    "tracing-subscriber",
];

pub(crate) fn run() -> Outcome {
    let tools = workspace::target()?.join("tools");
    let bin = tools.join("bin");
    let present = Step::cargo("hack --version").path_first(&bin).output();
    if present.is_none() {
        let install = Step::cargo("install cargo-hack --locked --quiet --root").arg(&tools);
        install.run()?;
    }
    // Pairs are enough: no item of the workspace depends on more than two features.
    let powerset = format!(
        "hack clippy --locked --quiet {} -p hyper-delay --feature-powerset --depth 2 \
         --exclude-features default -- -D warnings",
        workspace::libraries_selected()?
    );
    Step::cargo(&powerset).path_first(&bin).run()?;
    Step::cargo("test --locked --quiet -p race-core --features test-util,portable-atomic").run()?;
    // The combinations above leave out tests, for which dev-dependencies turn features on.
    Step::cargo(
        "clippy --locked --quiet -p hyper-delay --no-default-features --all-targets -- -D warnings",
    )
    .run()?;
    embedding()
}

/// A program that embeds the server without its command line compiles nothing of it.
fn embedding() -> Outcome {
    let tree = Step::cargo(
        "tree --locked -p hyper-delay --no-default-features --edges normal,build \
         --prefix none",
    );
    let tree = tree.output().ok_or("cargo tree -p hyper-delay failed")?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let unneeded: Vec<_> = names.filter(|name| COMMAND_LINE.contains(name)).collect();
    match unneeded.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "hyper-delay without default features depends on {}: make it optional, for `cli`",
            unneeded.join(", ")
        )),
    }
}
