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

use crate::step::Outcome;

/// The lines that the task prints in the end, such as `thumbv6m on microbit: 52 passed`.
type Report = Vec<String>;

pub(crate) fn run() -> Outcome {
    let mut report = Report::new();
    builds::run(&mut report)?;
    firmware::run(&mut report)?;
    board::run(&mut report)?;
    size::run(&mut report)?;
    web::run(&mut report)?;
    println!("\n{}", report.join("\n"));
    readme::check(&report)
}

/// The targets that take longest: those with a standard library, which is built from source.
pub(crate) fn platforms() -> Outcome {
    let mut report = Report::new();
    platforms::run(&mut report)?;
    println!("\n{}", report.join("\n"));
    Ok(())
}
