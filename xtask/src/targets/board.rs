//! The example `board` of `tests/targets`: three sensors, asked staggered.

use super::{
    Report,
    compiler::Compiler,
    machine::{MICROBIT, THUMBV7EM},
};
use crate::step::Outcome;

/// What the example prints. Its clock is exact.
const EXPECTED: &str = "\
a slow sensor
  asking roof
  asking wall
22 °C from wall after 70 ms
two faulty sensors
  asking roof
  asking wall
  asking cellar
17 °C from cellar after 20 ms
no sensor
  asking roof
  asking wall
  asking cellar
no temperature: all 3 attempts failed: #0: busy; #1: unplugged; #2: timed out after 200ms
";

pub(super) fn run(report: &mut Report) -> Outcome {
    let compiler = Compiler::find()?;
    for (machine, features) in [(MICROBIT, "--features microbit"), (THUMBV7EM, "")] {
        let build = "build --manifest-path tests/targets/Cargo.toml --bin board";
        compiler
            .cargo(&format!("{build} {features}"), machine.target, "")
            .run()?;
        let printed = machine.run(&compiler.program(machine.target, "debug", "board"))?;
        let (architecture, name) = (machine.architecture(), machine.name);
        if printed != EXPECTED {
            return Err(format!(
                "{architecture} on {name}: the board printed\n{printed}"
            ));
        }
        report.push(format!("{architecture} on {name}: the example board works"));
    }
    Ok(())
}
