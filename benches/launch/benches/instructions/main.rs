//! Counts instructions with callgrind: `cargo bench -p race-launch --bench instructions [--
//! [--print-only] [races | sets] WORD..]`. Needs valgrind and binutils.
//!
//! The first part counts whole races, the second one, the benchmark of the same name in `peers`,
//! compares the sets of futures. If the first word is `races` or `sets`, only this part runs. All
//! other words go to both parts: they select the races, and the rows and columns of the sets, whose
//! name contains one of them. A part in which no word matches is skipped. A word that matches in
//! neither part is an error.
//!
//! Fails if a target is missed. With `--print-only`, or if compiled with another version of rustc
//! than that of the targets, prints the counts without judging them. The counts are the same in
//! each run; they depend on the compiler and the C library.

#[path = "../../../callgrind/mod.rs"]
mod callgrind;
mod races;
mod workloads;

use std::{error::Error, process::ExitCode};

use workloads::{WORKLOADS, Workload};

fn main() -> ExitCode {
    let arguments = race_launch::arguments();
    let done = match &arguments[..] {
        [flag, name, turns] if flag == races::COUNTED_RUN => {
            races::counted_run(name, turns).map(|()| true)
        }
        arguments => parts(arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the parts that the arguments select. Returns whether all targets are met.
fn parts(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let (flags, words): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .partition(|it| it.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| **flag != "--print-only") {
        return Err(format!("unknown option `{flag}`; use --print-only").into());
    }
    let (part, words) = match &words[..] {
        [part @ ("races" | "sets"), words @ ..] => (Some(*part), words),
        words => (None, words),
    };

    let selects_race = |word: &str| WORKLOADS.iter().any(|race| race.name.contains(word));
    let mut met = true;
    if part != Some("sets") {
        let unmatched = words.iter().find(|word| !selects_race(word));
        if let (Some("races"), Some(word)) = (part, unmatched) {
            return Err(format!("no race contains `{word}`").into());
        }
        let is_selected = |race: &&Workload| {
            words.is_empty() || words.iter().any(|word| race.name.contains(word))
        };
        let races: Vec<&Workload> = WORKLOADS.iter().filter(is_selected).collect();
        if !races.is_empty() {
            met = races::print(&races, flags.is_empty())?;
        }
    }
    if part != Some("races") {
        let words = words.iter().map(|word| match part {
            None if selects_race(word) => format!("--optional={word}"),
            _ => (*word).to_owned(),
        });
        let flags = flags.iter().map(|flag| (*flag).to_owned());
        let arguments: Vec<String> = flags.chain(words).collect();
        met &= race_launch::instructions(&arguments) == ExitCode::SUCCESS;
    }
    Ok(met)
}
