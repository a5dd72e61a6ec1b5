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

/// `portable-atomic` needs to be told how to do without; see its documentation.
const SINGLE_CORE: &str = "--cfg portable_atomic_unsafe_assume_single_core";

pub(super) fn run(report: &mut Report, extent: Extent) -> Outcome {
    let compiler = Compiler::find()?;
    let mut checked = 0;
    let mut check = |target, flags, crates| {
        checked += 1;
        compiler
            .cargo(&format!("check {crates}"), target, flags)
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
    check(WITHOUT_SWAP, "", "-p race-core")?;
    check(WITHOUT_SWAP, SINGLE_CORE, "-p race-wheel")?;
    let heap = "-p race-core --features alloc,portable-atomic";
    check(WITHOUT_SWAP, SINGLE_CORE, heap)?;
    check(WITHOUT_SWAP, "", "-p race-embassy")?;
    let heap = "-p race-embassy --features alloc,portable-atomic";
    check(WITHOUT_SWAP, SINGLE_CORE, heap)?;
    heap_needs_compare_and_swap(&compiler)?;
    report.push(format!(
        "without std: {checked} combinations of features compile"
    ));
    Ok(())
}

/// The heap race does not compile without compare-and-swap, and the errors name the cure: an
/// implementation of `portable-atomic`, and the feature of that name.
fn heap_needs_compare_and_swap(compiler: &Compiler) -> Outcome {
    let heap = "check -p race-core --features alloc";
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
        let errors = compiler.cargo(heap, WITHOUT_SWAP, flags).errors()?;
        if !errors.contains(cure) {
            return Err(format!(
                "race-core with `alloc` for {WITHOUT_SWAP}: no error says {cure:?}:\n{errors}"
            ));
        }
    }
    Ok(())
}
