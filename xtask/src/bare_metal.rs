//! Targets without `std`, whose `core` and `alloc` are built from source.

use std::path::Path;

use crate::{
    msrv,
    step::{Outcome, Step},
    workspace,
};

/// Targets with compare-and-swap.
const WITH_SWAP: [&str; 2] = ["thumbv7em-none-eabi", "riscv32imac-unknown-none-elf"];

/// A target without. `portable-atomic` needs to be told how to do without; see its documentation.
const WITHOUT_SWAP: &str = "thumbv6m-none-eabi";
const WITHOUT_SWAP_FLAGS: &str = "--cfg portable_atomic_unsafe_assume_single_core";

pub(crate) fn run() -> Outcome {
    let compiler = msrv::compiler()?;
    let sysroot = Step::new(&compiler.to_string_lossy())
        .arg("--print=sysroot")
        .output();
    let sysroot = sysroot.ok_or("the compiler does not tell its sysroot")?;
    let source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/core/Cargo.toml");
    if !source.exists() {
        return Err(format!(
            "{} is missing: install Debian's rust-web-src of the same version, or \
             `rustup component add rust-src` for that toolchain",
            source.display()
        ));
    }
    let target = workspace::target()?.join("bare-metal");
    for triple in WITH_SWAP {
        for crates in [
            "-p race-core -p race-wheel",
            "-p race-core --features alloc",
            "-p race-core --features alloc,portable-atomic",
            "-p race-embassy",
            "-p race-embassy --features alloc",
        ] {
            let build = build(&compiler, &target, triple, crates);
            build.env("RUSTFLAGS", msrv::QUIET).run()?;
        }
    }
    for crates in [
        "-p race-wheel",
        "-p race-core --features portable-atomic",
        "-p race-core --features alloc,portable-atomic",
        "-p race-embassy",
        "-p race-embassy --features alloc,portable-atomic",
    ] {
        let flags = format!("{} {WITHOUT_SWAP_FLAGS}", msrv::QUIET);
        let build = build(&compiler, &target, WITHOUT_SWAP, crates);
        build.env("RUSTFLAGS", flags).run()?;
    }
    Ok(())
}

fn build(compiler: &Path, target: &Path, triple: &str, crates: &str) -> Step {
    Step::cargo(&format!(
        "build --locked --quiet -Zbuild-std=core,alloc --target {triple} {crates}"
    ))
    .env("RUSTC", compiler)
    // `-Zbuild-std` is unstable, and the compiler is a stable one.
    .env("RUSTC_BOOTSTRAP", "1")
    .env("CARGO_TARGET_DIR", target)
}
