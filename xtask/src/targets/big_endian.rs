//! The tests on a big-endian platform, in the user mode of QEMU.

use std::{path::Path, time::Duration};

use super::compiler::Compiler;
use crate::{output, step::Outcome, workspace};

const TARGET: &str = "s390x-unknown-linux-gnu";

/// The C library. Debian's cross compiler, which would know its place, conflicts with the C
/// compiler for 32-bit x86, so `rust-lld` links alone.
const LIBRARY: &str = "/usr/s390x-linux-gnu";

/// The libraries of the C compiler, in a folder named after its version.
const COMPILER_LIBRARIES: &str = "/usr/lib/gcc-cross/s390x-linux-gnu";

const TESTS: [&str; 2] = ["-p race-wheel --lib", "-p race-core --all-features --lib"];

/// The emulated tests take some minutes.
const LIMIT: Duration = Duration::from_secs(3_600);

pub(crate) fn run() -> Outcome {
    let compiler = Compiler::find()?;
    let flags = flags()?;
    let mut passed = 0;
    for tests in TESTS {
        let test = compiler.platform(&format!("test {tests}"), TARGET, &flags);
        let runner = "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER";
        let test = test.env(runner, format!("qemu-s390x -L {LIBRARY}"));
        passed += output::passed_in(&test.output_within(LIMIT)?);
    }
    output::say(&format!("{TARGET}: {passed} passed"));
    Ok(())
}

/// Returns the arguments that a C compiler would pass to the linker.
fn flags() -> Result<String, String> {
    let versions = workspace::folders(Path::new(COMPILER_LIBRARIES))?;
    let version = versions.last();
    let version = version.ok_or_else(|| format!("{COMPILER_LIBRARIES} is empty"))?;
    let start =
        ["crt1.o", "crti.o", "crtn.o"].map(|file| format!("-Clink-arg={LIBRARY}/lib/{file}"));
    Ok(format!(
        "-Clinker=rust-lld -Clinker-flavor=ld.lld -Crelocation-model=static {} \
         -Clink-arg=--dynamic-linker=/lib/ld64.so.1 -Lnative={LIBRARY}/lib -Lnative={}",
        start.join(" "),
        version.display()
    ))
}
