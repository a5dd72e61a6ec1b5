//! Benefit and cost of hedging, simulated with races on the virtual clock and seeded latencies:
//! `cargo bench --bench hedging`. It fails if a figure is out of its bounds. With `-- --figures
//! docs/hedging` it also draws the figures of the documentation, and with `-- --only places` it runs
//! one part.

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
mod shares;
mod single;

use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use figures::Figures;
use lexopt::{Arg, Parser, ValueExt as _};
use report::Report;

/// A part of the benchmark.
type Part<'a> = &'a dyn Fn(&mut Report);

fn main() -> anyhow::Result<ExitCode> {
    let (mut is_bench, mut folder, mut only) = (false, None, None);
    let mut args = Parser::from_env();
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Long("bench") => is_bench = true,
            Arg::Long("figures") => folder = Some(args.value()?.parse()?),
            Arg::Long("only") => only = Some(args.value()?.string()?),
            _ => return Err(arg.unexpected()).context("expected --figures FOLDER or --only PART"),
        }
    }
    // `cargo bench` passes `--bench`; `cargo test` only checks that the program starts.
    if !is_bench {
        println!("run it with: cargo bench --bench hedging");
        return Ok(ExitCode::SUCCESS);
    }
    let figures = Figures::new(folder);
    let mut report = Report::default();
    let parts: [(&str, Part<'_>); 9] = [
        ("fixed", &fixed::run),
        ("adaptive", &adaptive::run),
        ("first_requests", &first_requests::run),
        ("single", &|report| single::run(report, &figures)),
        ("fan_out", &fan_out::run),
        ("queues", &|report| queues::run(report, &figures)),
        ("places", &|report| places::run(report, &figures)),
        ("shares", &shares::run),
        ("record", &record::run),
    ];
    if let Some(only) = &only {
        let names = parts.map(|(name, _)| name);
        let is_part = names.contains(&only.as_str());
        ensure!(is_part, "no part {only}: expected one of {names:?}");
    }
    for (name, part) in parts {
        if only.as_ref().is_none_or(|only| only == name) {
            part(&mut report);
        }
    }
    match report.missed() {
        0 => Ok(ExitCode::SUCCESS),
        missed => {
            eprintln!("{missed} figures are out of their bounds");
            Ok(ExitCode::FAILURE)
        }
    }
}
