//! Counts the instructions of whole races, and compares them with the targets.

use std::error::Error;

use crate::{
    callgrind::{Turns, compiler, per_turn},
    workloads::{WORKLOADS, Workload},
};

/// The argument of a run under callgrind.
pub(crate) const COUNTED_RUN: &str = "--counted-run";

const TURNS: Turns = Turns {
    few: 1_000,
    many: 11_000,
};

/// Runs one workload under callgrind.
pub(crate) fn counted_run(name: &str, turns: &str) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let _entered = runtime.enter();
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    (workload.ok_or("no workload of that name")?.run)(turns.parse()?);
    Ok(())
}

/// Prints the instructions of each workload. Returns whether all targets are met, or `true` if the
/// counts are not judged.
pub(crate) fn print(workloads: &[&Workload], is_judged: bool) -> Result<bool, Box<dyn Error>> {
    let is_judged = compiler::print()? && is_judged;
    println!(
        "{:<44} {:>8} {:>8}",
        "instructions of a race", "counted", "at most"
    );
    let mut missed = 0;
    for Workload { name, at_most, .. } in workloads {
        let count = per_turn(&[COUNTED_RUN, name], TURNS)?.round() as u64;
        let is_missed = is_judged && count > *at_most;
        let verdict = if is_missed { "MISSED" } else { "" };
        println!("{name:<44} {count:>8} {at_most:>8} {verdict}");
        missed += usize::from(is_missed);
    }
    println!();
    Ok(missed == 0)
}
