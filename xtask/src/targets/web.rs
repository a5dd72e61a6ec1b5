//! `race-web`: `tests/web` in Node and in Chromium, and the page `examples/fetch`.

use std::{path::Path, time::Duration};

use super::{
    Report,
    compiler::{Compiler, WASM},
};
use crate::{
    output,
    step::{Outcome, Step},
    tools, workspace,
};

const TESTS: &str = "tests/web";
const PAGE: &str = "examples/fetch";

/// The time to run what was built.
const LIMIT: Duration = Duration::from_secs(300);

/// Fewer checks of the suite than this mean that it was not run.
const AT_LEAST: usize = 50;

/// Where the tests run: what to say of it, the variable that tells the runner, and the type of the
/// global object.
const PLACES: [(&str, &str, &str); 3] = [
    ("node", "", "Object"),
    ("chromium", "WASM_BINDGEN_USE_BROWSER", "Window"),
    (
        "chromium, in a worker",
        "WASM_BINDGEN_USE_DEDICATED_WORKER",
        "DedicatedWorkerGlobalScope",
    ),
];

pub(super) fn run(report: &mut Report) -> Outcome {
    let compiler = Compiler::find()?;
    std_needs_web(&compiler)?;
    let tools = tools::wasm_bindgen()?;
    compiler
        .cargo(&format!("{} --no-run", tests()), WASM, "")
        .run()?;
    for (place, variable, object) in PLACES {
        let passed = test(&compiler, &tools, variable, object)?;
        report.push(format!("web ({place}): {passed}"));
    }
    Ok(())
}

/// A timer that needs a thread does not compile, and the error names the cure.
fn std_needs_web(compiler: &Compiler) -> Outcome {
    for (package, cure) in [
        ("race", "enable the feature `web` of `race`"),
        ("race-thread", "use `race-web` in browsers"),
    ] {
        let build = compiler.cargo(&format!("build -p {package}"), WASM, "");
        let errors = build.errors()?;
        if !errors.contains(cure) {
            return Err(format!("{package} for {WASM}: no {cure:?} in:\n{errors}"));
        }
    }
    let without_std = "build -p race --no-default-features";
    compiler.cargo(without_std, WASM, "").run()
}

fn tests() -> String {
    format!("test --manifest-path {TESTS}/Cargo.toml")
}

/// Runs the tests, and returns what to say of them.
fn test(compiler: &Compiler, tools: &Path, variable: &str, object: &str) -> Result<String, String> {
    let runner = tools.join("wasm-bindgen-test-runner");
    let mut step = compiler
        .cargo(&tests(), WASM, "")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
        .env("WASM_BINDGEN_TEST_TIMEOUT", LIMIT.as_secs().to_string())
        .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60");
    if !variable.is_empty() {
        step = step.env(variable, "1");
    }
    let printed = step.arg("--").arg("--nocapture").output_within(LIMIT)?;
    let suite = printed.lines().find_map(|line| {
        let (_, count) = line.split_once(&format!("suite in {object}: "))?;
        count.split_once(" passed")?.0.parse::<usize>().ok()
    });
    match (suite, output::passed_in(&printed)) {
        (Some(suite @ AT_LEAST..), tests @ 2..) => Ok(format!(
            "{suite} passed, and {} tests of the timer",
            tests - 1
        )),
        _ => Err(format!(
            "at least {AT_LEAST} checks must pass in {object}:\n{printed}"
        )),
    }
}

/// Builds the page and runs its test.
pub(super) fn page(report: &mut Report) -> Outcome {
    let (compiler, tools) = (Compiler::find()?, tools::wasm_bindgen()?);
    let manifest = format!("--manifest-path {PAGE}/Cargo.toml");
    let build = format!("build --release {manifest}");
    compiler.cargo(&build, WASM, "").run()?;
    let bindgen = tools.join("wasm-bindgen");
    Step::program(&bindgen, &format!("--target web --out-dir {PAGE}/pkg"))
        .arg(compiler.program(WASM, "release", "fetch.wasm"))
        .run()?;
    workspace::cargo_outside(&format!("test --locked {manifest}"))?.run()?;
    report.push("web (chromium): the page that hedges fetch works".to_owned());
    Ok(())
}
