//! The machines of QEMU.

use std::{path::Path, time::Duration};

use crate::step::Step;

/// The time of the host after which a program is killed. A virtual second takes less than a real
/// one, since QEMU does not wait while the processor sleeps.
const LIMIT: Duration = Duration::from_secs(120);

/// A machine that QEMU emulates.
#[derive(Clone, Copy)]
pub(super) struct Machine {
    /// The target of the compiler.
    pub(super) target: &'static str,
    /// What QEMU calls the machine.
    pub(super) name: &'static str,
    emulator: &'static str,
}

const fn arm(target: &'static str, name: &'static str) -> Machine {
    Machine {
        target,
        name,
        emulator: "qemu-system-arm",
    }
}

/// A Cortex-M0 with 16 kB of RAM.
pub(super) const MICROBIT: Machine = arm("thumbv6m-none-eabi", "microbit");
/// A Cortex-M3 that runs the instructions of a Cortex-M0.
pub(super) const THUMBV6M: Machine = arm("thumbv6m-none-eabi", "mps2-an385");
/// A Cortex-M3.
pub(super) const THUMBV7M: Machine = arm("thumbv7m-none-eabi", "mps2-an385");
/// A Cortex-M4.
pub(super) const THUMBV7EM: Machine = arm("thumbv7em-none-eabi", "mps2-an386");
/// A RISC-V processor with atomics.
pub(super) const RISCV: Machine = Machine {
    target: "riscv32imac-unknown-none-elf",
    name: "virt",
    emulator: "qemu-system-riscv32 -bios none",
};

impl Machine {
    /// The first part of the target, such as `thumbv6m`.
    pub(super) fn architecture(&self) -> &'static str {
        self.target.split('-').next().unwrap_or(self.target)
    }

    /// Runs a program, and returns what it printed. Its clock counts instructions, 8 ns each.
    pub(super) fn run(&self, program: &Path) -> Result<String, String> {
        let Self { emulator, name, .. } = self;
        Step::new(&format!(
            "{emulator} -M {name} -icount shift=3,sleep=off -nographic -monitor none -serial none \
             -semihosting-config enable=on,target=native -kernel"
        ))
        .arg(program)
        .output_within(LIMIT)
    }
}
