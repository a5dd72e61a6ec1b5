//! Combinations of features. All features together are the `lint` task.

use crate::{
    step::{Outcome, Step},
    workspace,
};

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
        "hack clippy --locked --quiet {} --feature-powerset --depth 2 \
         --exclude-features default -- -D warnings",
        workspace::libraries_selected()?
    );
    Step::cargo(&powerset).path_first(&bin).run()?;
    Step::cargo("test --locked --quiet -p race-core --features test-util,portable-atomic").run()
}
