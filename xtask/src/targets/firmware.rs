//! The suite of races on bare metal: `tests/targets` in QEMU.

use super::{
    Extent, Report,
    compiler::Compiler,
    machine::{MICROBIT, Machine, RISCV, THUMBV6M, THUMBV7EM, THUMBV7M},
};
use crate::step::Outcome;

/// Fewer checks than on the smallest target mean that the suite was not run.
const AT_LEAST: usize = 52;

/// A machine, the features of the firmware, and what to say of them.
type Row = (Machine, &'static str, &'static str);

/// Without compare-and-swap, with an allocator and without one, and with both.
const FEW: [Row; 3] = [
    (MICROBIT, "microbit", "without alloc"),
    (
        THUMBV6M,
        "alloc,generic-queue,portable-atomic",
        "with alloc and portable-atomic",
    ),
    (THUMBV7EM, "alloc", "with alloc, embassy's default queue"),
];

const MORE: [Row; 5] = [
    (THUMBV7M, "alloc", "with alloc, embassy's default queue"),
    (
        THUMBV7M,
        "alloc,generic-queue",
        "with alloc, embassy's generic queue",
    ),
    (
        THUMBV7EM,
        "alloc,generic-queue",
        "with alloc, embassy's generic queue",
    ),
    (RISCV, "alloc", "with alloc, embassy's default queue"),
    (
        RISCV,
        "alloc,generic-queue",
        "with alloc, embassy's generic queue",
    ),
];

pub(super) fn run(report: &mut Report, extent: Extent) -> Outcome {
    let mut rows = FEW.to_vec();
    if extent == Extent::All {
        rows.extend(MORE);
    }
    let compiler = Compiler::find()?;
    for (machine, features, note) in rows {
        let build = format!(
            "build --manifest-path tests/targets/Cargo.toml --bin suite --features {features}"
        );
        compiler.cargo(&build, machine.target, "").run()?;
        let printed = machine.run(&compiler.program(machine.target, "debug", "suite"))?;
        let passed = printed.lines().last().unwrap_or_default();
        let count = passed.strip_suffix(" passed");
        let count = count.and_then(|count| count.parse().ok());
        let (architecture, name) = (machine.architecture(), machine.name);
        if count.is_none_or(|count: usize| count < AT_LEAST) {
            return Err(format!(
                "{architecture} on {name}: {passed:?}, at least {AT_LEAST} checks must pass"
            ));
        }
        report.push(format!("{architecture} on {name}: {passed} ({note})"));
    }
    Ok(())
}
