//! What compiles without `std`: each combination of features and target in the table of
//! `race-core`'s README.

use super::{Report, compiler::Compiler};
use crate::step::Outcome;

/// Targets with compare-and-swap.
const WITH_SWAP: [&str; 3] = [
    "thumbv7m-none-eabi",
    "thumbv7em-none-eabi",
    "riscv32imac-unknown-none-elf",
];

/// A target without.
const WITHOUT_SWAP: &str = "thumbv6m-none-eabi";

/// `portable-atomic` needs to be told how to do without; see its documentation.
const SINGLE_CORE: &str = "--cfg portable_atomic_unsafe_assume_single_core";

pub(super) fn run(report: &mut Report) -> Outcome {
    let compiler = Compiler::find()?;
    let mut built = 0;
    let mut build = |target, flags, crates| {
        built += 1;
        compiler
            .cargo(&format!("build {crates}"), target, flags)
            .run()
    };
    for target in WITH_SWAP {
        build(target, "", "-p race-core -p race-wheel")?;
        build(target, "", "-p race-core --features alloc")?;
        build(target, "", "-p race-core --features alloc,portable-atomic")?;
        build(target, "", "-p race-embassy")?;
        build(target, "", "-p race-embassy --features alloc")?;
    }
    build(WITHOUT_SWAP, "", "-p race-core")?;
    build(WITHOUT_SWAP, SINGLE_CORE, "-p race-wheel")?;
    let heap = "-p race-core --features alloc,portable-atomic";
    build(WITHOUT_SWAP, SINGLE_CORE, heap)?;
    build(WITHOUT_SWAP, "", "-p race-embassy")?;
    let heap = "-p race-embassy --features alloc,portable-atomic";
    build(WITHOUT_SWAP, SINGLE_CORE, heap)?;
    heap_needs_compare_and_swap(&compiler)?;
    report.push(format!(
        "without std: {built} combinations of features compile"
    ));
    Ok(())
}

/// The heap race does not compile without compare-and-swap, and the errors name the cure: an
/// implementation of `portable-atomic`, and the feature of that name.
fn heap_needs_compare_and_swap(compiler: &Compiler) -> Outcome {
    let check = "check -p race-core --features alloc";
    for (flags, cure) in [
        (
            "",
            "consider enabling one of the `critical-section` feature",
        ),
        (
            SINGLE_CORE,
            "enable the feature `portable-atomic` of `race-core`",
        ),
    ] {
        let errors = compiler.cargo(check, WITHOUT_SWAP, flags).errors()?;
        if !errors.contains(cure) {
            return Err(format!(
                "race-core with `alloc` for {WITHOUT_SWAP}: no error says {cure:?}:\n{errors}"
            ));
        }
    }
    Ok(())
}
