//! Counts the instructions on the scheduler's thread with callgrind: `cargo bench -p
//! hyper-delay-engine --bench instructions [-- --print-only]`. Needs valgrind and binutils.
//!
//! No disk and no sockets: each job of the committer is reported as done at once. Fails if a limit is
//! exceeded. With `--print-only`, or if compiled with another version of rustc than that of the
//! limits, prints the counts without judging them.

#[path = "../../../../benches/callgrind/mod.rs"]
mod callgrind;
mod server;

use std::{env, error::Error, process::ExitCode};

use callgrind::{Turns, compiler, per_turn};
use hyper_delay_protocol::DeliverySelector;
use server::{Answer, Server};

/// The argument of a run under callgrind.
const COUNTED_RUN: &str = "--counted-run";

const TURNS: Turns = Turns {
    few: 3_200,
    many: 35_200,
};

struct Workload {
    name: &'static str,
    /// The most instructions that a task may take.
    at_most: u64,
    /// Handles this many tasks.
    run: fn(u64),
}

const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "a schedule, due tomorrow",
        at_most: 3_720,
        run: |tasks| Server::new(&["route"]).schedule_far(tasks),
    },
    Workload {
        name: "a schedule, its delivery and its ack",
        at_most: 11_130,
        run: |tasks| {
            let answer = Answer {
                selector: |id, _, _| DeliverySelector {
                    id,
                    route: None,
                    attempt: None,
                },
                confirm: false,
            };
            Server::new(&["route"]).deliver(tasks, Some("route"), answer);
        },
    },
    Workload {
        name: "the same, confirmed, by the full name",
        at_most: 11_240,
        run: |tasks| Server::new(&["route"]).deliver(tasks, Some("route"), Answer::FULL),
    },
    Workload {
        name: "the same without a route",
        at_most: 11_480,
        run: |tasks| Server::new(&[]).deliver(tasks, None, Answer::FULL),
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [COUNTED_RUN, name, turns] => counted_run(name, turns).map(|()| true),
        [] => print(true),
        ["--print-only"] => print(false),
        _ => Err("unknown arguments; use --print-only, or none".into()),
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

/// Runs one workload under callgrind.
fn counted_run(name: &str, tasks: &str) -> Result<(), Box<dyn Error>> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    (workload.ok_or("no workload of that name")?.run)(tasks.parse()?);
    Ok(())
}

/// Prints the instructions of each workload. Returns whether no limit is exceeded, or `true` if the
/// counts are not judged.
fn print(is_judged: bool) -> Result<bool, Box<dyn Error>> {
    let is_judged = compiler::print()? && is_judged;
    println!(
        "{:<44} {:>8} {:>8}",
        "instructions of the scheduler's thread", "counted", "at most"
    );
    let mut exceeded = 0;
    for Workload { name, at_most, .. } in &WORKLOADS {
        let count = per_turn(&[COUNTED_RUN, name], TURNS)?.round() as u64;
        let is_exceeded = is_judged && count > *at_most;
        let verdict = if is_exceeded { "EXCEEDED" } else { "" };
        println!("{name:<44} {count:>8} {at_most:>8} {verdict}");
        exceeded += usize::from(is_exceeded);
    }
    Ok(exceeded == 0)
}
