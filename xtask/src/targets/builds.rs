//! What compiles without `std`: each combination of features and target in the table of
//! `race-core`'s README. The firmware is built and run as well.

use super::{Extent, Report, compiler::Compiler};
use crate::step::Outcome;

/// A target with compare-and-swap.
const WITH_SWAP: &str = "thumbv7em-none-eabi";

/// More of them.
const MORE_WITH_SWAP: [&str; 2] = ["thumbv7m-none-eabi", "riscv32imac-unknown-none-elf"];

/// A target without.
const WITHOUT_SWAP: &str = "thumbv6m-none-eabi";

/// One way to tell `portable-atomic` how to do without; see its documentation. `core` is built again
/// with it.
const SINGLE_CORE: &str = "--cfg portable_atomic_unsafe_assume_single_core";

pub(super) fn run(report: &mut Report, extent: Extent) -> Outcome {
    let compiler = Compiler::find()?;
    let mut checked = 0;
    let mut check = |target, flags, crates| {
        checked += 1;
        compiler
            .cargo(&format!("build {crates}"), target, flags)
            .run()
    };
    let mut with_swap = vec![WITH_SWAP];
    if extent == Extent::All {
        with_swap.extend(MORE_WITH_SWAP);
    }
    for target in with_swap {
        check(target, "", "-p race-core -p race-wheel")?;
        check(target, "", "-p race-core --features alloc")?;
        check(target, "", "-p race-core --features alloc,portable-atomic")?;
        check(target, "", "-p race-embassy")?;
        check(target, "", "-p race-embassy --features alloc")?;
    }
    check(WITHOUT_SWAP, "", "-p race-core -p race-wheel")?;
    check(WITHOUT_SWAP, "", "-p race-embassy")?;
    needs_compare_and_swap(&compiler, "", NO_IMPLEMENTATION)?;
    // The firmware has a heap there, too, with the other implementation.
    if extent == Extent::All {
        let core = "-p race-core --features alloc,portable-atomic";
        check(WITHOUT_SWAP, SINGLE_CORE, core)?;
        let embassy = "-p race-embassy --features alloc,portable-atomic";
        check(WITHOUT_SWAP, SINGLE_CORE, embassy)?;
        needs_compare_and_swap(&compiler, SINGLE_CORE, NO_FEATURE)?;
    }
    report.push(format!(
        "without std: {checked} combinations of features compile"
    ));
    Ok(())
}

const NO_IMPLEMENTATION: &str = "consider enabling one of the `critical-section` feature";
const NO_FEATURE: &str = "enable the feature `portable-atomic` of `race-core`";

/// The heap race does not compile without compare-and-swap, and an error names the cure.
fn needs_compare_and_swap(compiler: &Compiler, flags: &str, cure: &str) -> Outcome {
    let heap = "build -p race-core --features alloc";
    let errors = compiler.cargo(heap, WITHOUT_SWAP, flags).errors()?;
    match errors.contains(cure) {
        true => Ok(()),
        false => Err(format!(
            "race-core with `alloc` for {WITHOUT_SWAP}: no error says {cure:?}:\n{errors}"
        )),
    }
}
