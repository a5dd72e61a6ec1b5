//! Benefit and cost of hedging, simulated with races on the virtual clock and seeded latencies:
//! `cargo bench --bench hedging`. It fails if a figure is out of its bounds. With `-- --figures
//! docs/hedging` it also draws the figures of the documentation.

mod adaptive;
mod fan_out;
mod figures;
mod first_requests;
mod fixed;
mod places;
mod queues;
mod record;
mod report;
mod requests;
mod shapes;
mod single;

use std::process::ExitCode;

use anyhow::Context as _;
use figures::Figures;
use lexopt::{Arg, Parser, ValueExt as _};
use report::Report;

fn main() -> anyhow::Result<ExitCode> {
    let (mut is_bench, mut folder) = (false, None);
    let mut args = Parser::from_env();
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Long("bench") => is_bench = true,
            Arg::Long("figures") => folder = Some(args.value()?.parse()?),
            _ => return Err(arg.unexpected()).context("expected no argument but --figures FOLDER"),
        }
    }
    // `cargo bench` passes `--bench`; `cargo test` only checks that the program starts.
    if !is_bench {
        println!("run it with: cargo bench --bench hedging");
        return Ok(ExitCode::SUCCESS);
    }
    let figures = Figures::new(folder);
    let mut report = Report::default();
    fixed::run(&mut report);
    adaptive::run(&mut report);
    first_requests::run(&mut report);
    single::run(&mut report, &figures);
    fan_out::run(&mut report);
    queues::run(&mut report, &figures);
    places::run(&mut report, &figures);
    record::run(&mut report);
    match report.missed() {
        0 => Ok(ExitCode::SUCCESS),
        missed => {
            eprintln!("{missed} figures are out of their bounds");
            Ok(ExitCode::FAILURE)
        }
    }
}
