//! Benefit and cost of hedging, simulated with races on the virtual clock and seeded latencies:
//! `cargo bench --bench hedging`. It fails if a figure is out of its bounds.

mod adaptive;
mod fan_out;
mod fixed;
mod queues;
mod record;
mod report;
mod requests;
mod shapes;
mod single;

use std::{env, process::ExitCode};

use report::Report;

fn main() -> ExitCode {
    // `cargo bench` passes this flag; `cargo test` only checks that the program starts.
    if !env::args().any(|arg| arg == "--bench") {
        println!("run it with: cargo bench --bench hedging");
        return ExitCode::SUCCESS;
    }
    let mut report = Report::default();
    fixed::run(&mut report);
    adaptive::run(&mut report);
    single::run(&mut report);
    fan_out::run(&mut report);
    queues::run(&mut report);
    record::run();
    match report.missed() {
        0 => ExitCode::SUCCESS,
        missed => {
            eprintln!("{missed} figures are out of their bounds");
            ExitCode::FAILURE
        }
    }
}
