//! A hedged service when no hedge is due: `race-tower` beside `tower::hedge`.
//!
//! Allocations are exact. Times are medians of rounds that alternate. Instructions are counted with
//! callgrind, unless the argument `times` is given; that needs valgrind. It fails if a service of
//! ours is slower than `tower::hedge`.

#[path = "../../../callgrind/mod.rs"]
mod callgrind;
mod contenders;
mod counting;
mod server;

use std::{env, error::Error, process::ExitCode, time::Instant};

use callgrind::{Turns, compiler, per_turn};
use contenders::{Contender, NAMES, OURS, PEER, contender};
use tokio::runtime::Runtime;

const ROUNDS: usize = 15;
const REQUESTS: u32 = 20_000;

/// The argument of a run under callgrind.
const COUNTED_RUN: &str = "--counted-run";

const TURNS: Turns = Turns {
    few: 100,
    many: 1_100,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [COUNTED_RUN, index, pending, turns] => counted_run(index, pending, turns),
        [] => tables(true),
        ["times"] => tables(false),
        _ => Err(format!("unknown arguments {arguments:?}: give none, or `times`").into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tower: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the tables. Returns whether ours are not slower.
fn tables(count_instructions: bool) -> Result<bool, Box<dyn Error>> {
    compiler::print()?;
    let mut is_fast = true;
    for pending in [0, 1] {
        is_fast &= table(pending, count_instructions)?;
    }
    Ok(is_fast)
}

fn table(pending: u32, count_instructions: bool) -> Result<bool, Box<dyn Error>> {
    let runtime = runtime()?;
    let mut contenders: Vec<Contender> = (0..NAMES.len())
        .map(|index| contender(index, pending))
        .collect();
    let mut times = vec![Vec::new(); NAMES.len()];
    let mut allocations = vec![0.0; NAMES.len()];
    for _ in 0..ROUNDS {
        for (index, ask) in contenders.iter_mut().enumerate() {
            let (begun, before) = (Instant::now(), counting::allocations());
            ask(&runtime, REQUESTS);
            times[index].push(begun.elapsed().as_nanos() as f64 / f64::from(REQUESTS));
            let count = counting::allocations() - before;
            allocations[index] = count as f64 / f64::from(REQUESTS);
        }
    }
    println!("\na request that is pending {pending} times, no hedge due");
    println!(
        "{:<38}{:>8}{:>8}{:>14}{:>14}",
        "", "ns", "ratio", "instructions", "allocations"
    );
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    for (index, name) in NAMES.iter().enumerate() {
        let instructions = match count_instructions {
            true => {
                let (index, pending) = (index.to_string(), pending.to_string());
                let count = per_turn(&[COUNTED_RUN, &index, &pending], TURNS)?;
                format!("{count:.0}")
            }
            false => "-".to_owned(),
        };
        println!(
            "{name:<38}{:>8.0}{:>8.2}{instructions:>14}{:>14.2}",
            medians[index],
            medians[index] / medians[PEER],
            allocations[index],
        );
    }
    Ok(OURS.iter().all(|index| medians[*index] <= medians[PEER]))
}

/// Asks one contender under callgrind.
fn counted_run(index: &str, pending: &str, turns: &str) -> Result<bool, Box<dyn Error>> {
    let mut ask = contender(index.parse()?, pending.parse()?);
    ask(&runtime()?, turns.parse()?);
    Ok(true)
}

fn runtime() -> Result<Runtime, std::io::Error> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build()
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
