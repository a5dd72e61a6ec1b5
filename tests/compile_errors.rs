//! What the compiler says when a timer or a feature is missing must name the cure.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles a program against the facade without any feature; what the compiler says.
fn complaint(name: &str, program: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compile-errors");
    let package = target.join(name);
    fs::create_dir_all(package.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = {name:?}\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nrace = {{ path = {:?} }}\n",
        root.join("crates/race")
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    fs::write(package.join("src/main.rs"), program).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--color=never", "--target-dir"])
        .arg(target.join("target"))
        .current_dir(&package)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{name} must not compile");
    String::from_utf8(output.stderr).unwrap()
}

fn assert_names_the_cure(complaint: &str, cure: &[&str]) {
    for part in cure {
        assert!(
            complaint.contains(part),
            "{part:?} is missing in:\n{complaint}"
        );
    }
}

#[test]
fn a_race_without_any_timer() {
    let program = "fn main() {
        let step = std::time::Duration::ZERO;
        let _ = race::core::Race::of(step, [std::future::ready(1)]);
    }";
    let complaint = complaint("without-timer", program);
    assert_names_the_cure(
        &complaint,
        &["Timer", "race_tokio::Race", "of_with(timer, ..)"],
    );
}

#[test]
fn a_type_that_is_no_timer() {
    let program = "fn main() {
        let step = std::time::Duration::ZERO;
        let _ = race::core::Race::of_with((), step, [std::future::ready(1)]);
    }";
    let complaint = complaint("no-timer", program);
    assert_names_the_cure(
        &complaint,
        &[
            "a race needs a `Timer`, and `()` is none",
            "features `tokio`, `async-io`, `smol`",
        ],
    );
}

#[test]
fn a_runtime_without_its_feature() {
    for module in ["tokio", "async_io", "smol"] {
        let program = format!("use race::{module}::Race;\nfn main() {{}}");
        let complaint = complaint(&format!("missing-{module}"), &program);
        let feature = module.replace('_', "-");
        assert_names_the_cure(&complaint, &["configured out", &format!("`{feature}`")]);
    }
}
