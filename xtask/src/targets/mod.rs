//! Targets other than the host: what compiles there, and the suite of races on each.
//!
//! One file for each kind of target. A kind reports a line for each of its targets.

pub(crate) mod big_endian;
mod board;
mod builds;
mod compiler;
mod firmware;
mod machine;
mod platforms;
mod readme;
mod size;
mod web;

use crate::{output, step::Outcome};

/// The lines that the task prints in the end, such as `thumbv6m on microbit: 52 passed`.
type Report = Vec<String>;

/// Which targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// One of each kind: without compare-and-swap and an allocator, with both, and the web.
    Few,
    /// All.
    All,
}

pub(crate) fn few() -> Outcome {
    let mut report = Report::new();
    builds::run(&mut report, Extent::Few)?;
    firmware::run(&mut report, Extent::Few)?;
    web::run(&mut report)?;
    finish(&report)
}

pub(crate) fn all() -> Outcome {
    let mut report = Report::new();
    builds::run(&mut report, Extent::All)?;
    firmware::run(&mut report, Extent::All)?;
    board::run(&mut report)?;
    size::run(&mut report)?;
    web::run(&mut report)?;
    web::page(&mut report)?;
    platforms::run(&mut report)?;
    finish(&report)
}

fn finish(report: &Report) -> Outcome {
    for line in report {
        output::say(line);
    }
    readme::check(report)
}
