//! `cargo bench --bench hedging`: what hedging gains and what it costs, simulated with real races on the
//! virtual clock, with a seed. It fails if a figure is missed.

mod adaptive;
mod fan_out;
mod fixed;
mod record;
mod report;
mod requests;
mod shapes;

use std::{env, process::ExitCode};

use report::Report;

fn main() -> ExitCode {
    // `cargo bench` says so; `cargo test` only wants to know that it starts.
    if !env::args().any(|it| it == "--bench") {
        println!("run it with: cargo bench --bench hedging");
        return ExitCode::SUCCESS;
    }
    let mut report = Report::default();
    fixed::run(&mut report);
    adaptive::run(&mut report);
    fan_out::run(&mut report);
    record::run();
    match report.missed() {
        0 => ExitCode::SUCCESS,
        missed => {
            eprintln!("{missed} figures were missed");
            ExitCode::FAILURE
        }
    }
}
