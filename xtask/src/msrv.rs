//! The declared `rust-version`, with the compiler of that version.

use std::{env, path::PathBuf};

use crate::{
    step::{Outcome, Step},
    workspace,
};

/// Names the compiler to use.
const VARIABLE: &str = "MSRV_RUSTC";

/// For builds whose warnings another task judges.
pub(crate) const QUIET: &str = "-Awarnings";

/// Cargo shows the warnings of libraries from a checkout or a git dependency, and hides those of
/// dependencies from a registry.
const STRICT: &str = "-Dwarnings";

/// Features whose dependencies need a newer compiler, with their libraries.
const NEWER: [(&str, &str); 1] = [("race-connect", "hickory")];

/// The libraries compile without a warning, with all features and with none. Features that need a
/// newer compiler are left out.
pub(crate) fn run() -> Outcome {
    let compiler = compiler()?;
    let target = workspace::target()?.join("msrv");
    let check = |selection: &str| {
        Step::cargo(&format!("check --locked {selection}"))
            .env("RUSTC", &compiler)
            .env("RUSTFLAGS", STRICT)
            .env("CARGO_TARGET_DIR", &target)
            .run()
    };
    // One command, since another set of features compiles the dependencies again.
    let features = workspace::features_except(&workspace::libraries()?, &NEWER)?;
    let libraries = workspace::libraries_selected()?;
    check(&format!("{libraries}--features {features}"))?;
    check(&format!("{libraries}--no-default-features"))
}

/// The path of a compiler of the declared version: the variable, a toolchain of rustup, or the
/// system's. Nothing is downloaded.
pub(crate) fn compiler() -> Result<PathBuf, String> {
    let version = workspace::rust_version()?;
    let toolchain = Step::new(&format!("rustup which --toolchain {version} rustc"));
    let toolchain = toolchain.env("RUSTUP_AUTO_INSTALL", "0").output();
    let candidates = [
        env::var_os(VARIABLE).map(PathBuf::from),
        toolchain.map(PathBuf::from),
        Some(PathBuf::from("/usr/bin/rustc")),
    ];
    let prefix = format!("rustc {version}.");
    let mut found = candidates.into_iter().flatten().filter(|path| {
        let printed = Step::program(path, "--version").output();
        printed.is_some_and(|printed| printed.starts_with(&prefix))
    });
    found.next().ok_or_else(|| {
        format!(
            "no rustc {version}: install Debian's rustc-web={version}.*, or \
             `rustup toolchain install {version}`, or set {VARIABLE}"
        )
    })
}
