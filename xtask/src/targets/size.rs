//! What a race of four costs on a Cortex-M4, beside a race by hand and embassy's `select4`: the
//! programs `size-*` of `tests/targets`, which are otherwise the same.

use std::path::Path;

use super::{Report, compiler::Compiler, machine::THUMBV7EM};
use crate::step::{Outcome, Step};

/// The most bytes of code that a race may have above `select4`. The aim is 1,536; see
/// `benches/README.md`.
const LIMIT: usize = 3_328;

/// What is compared with `select4`, which comes last.
const PROGRAMS: [&str; 4] = ["race", "first-ok", "staggered", "select4"];

/// Sizes in bytes.
struct Sizes {
    name: &'static str,
    /// The section `.text`: code.
    text: usize,
    /// The section `.rodata`: constants.
    constants: usize,
    /// The sections `.data` and `.bss`: memory of the whole program, with the future of its task.
    memory: usize,
    /// The future of the race.
    future: usize,
    /// The stack of the whole program, with the interrupt.
    stack: usize,
}

pub(super) fn run(report: &mut Report) -> Outcome {
    let compiler = Compiler::find()?;
    let build = "build --manifest-path tests/targets/Cargo.toml --release --features size --bin";
    let programs = PROGRAMS.map(|name| format!("size-{name}")).join(" --bin ");
    compiler
        .cargo(&format!("{build} {programs}"), THUMBV7EM.target, "")
        .run()?;
    let sizes = PROGRAMS.map(|name| {
        let program = compiler.program(THUMBV7EM.target, "release", &format!("size-{name}"));
        Sizes::measure(name, &program)
    });
    let [race, first_ok, staggered, select4] = sizes;
    let sizes = [race?, first_ok?, staggered?, select4?];
    report.push(String::from(
        "thumbv7em, race of four: bytes of code, constants, static memory, future, stack",
    ));
    report.extend(sizes.iter().map(Sizes::line));
    let [race, .., select4] = &sizes;
    let above = race.text.saturating_sub(select4.text);
    match above <= LIMIT {
        true => Ok(()),
        false => Err(format!(
            "a race has {above} bytes of code above select4, the limit is {LIMIT}"
        )),
    }
}

impl Sizes {
    /// Reads the sections of a program, and runs it.
    fn measure(name: &'static str, program: &Path) -> Result<Self, String> {
        let sections = Step::new("readelf --section-headers --wide").arg(program);
        let sections = sections.output();
        let sections = sections.ok_or("readelf fails: install Debian's binutils")?;
        let section = |name: &str| {
            let line = sections.lines().find_map(|line| {
                let (_, line) = line.split_once("] ")?;
                line.strip_prefix(name)?.strip_prefix(' ')
            });
            // Type, address, offset, size.
            let size = line.and_then(|line| line.split_whitespace().nth(3));
            let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
            size.ok_or_else(|| format!("{} has no section {name}", program.display()))
        };
        let printed = THUMBV7EM.run(program)?;
        let mut printed = printed.lines().map(|line| line.trim().parse().ok());
        let mut next = || {
            let number = printed.next().flatten();
            number.ok_or_else(|| format!("size-{name} did not print two numbers"))
        };
        Ok(Self {
            name,
            text: section(".text")?,
            constants: section(".rodata")?,
            memory: section(".data")? + section(".bss")?,
            future: next()?,
            stack: next()?,
        })
    }

    fn line(&self) -> String {
        let Self {
            name,
            text,
            constants,
            memory,
            future,
            stack,
        } = self;
        format!("  {name:<10}{text:>7}{constants:>7}{memory:>7}{future:>7}{stack:>7}")
    }
}
