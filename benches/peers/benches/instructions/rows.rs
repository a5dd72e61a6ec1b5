//! The rows of the table.
//!
//! tokio's `JoinSet` has no row: `JoinSet` runs its futures as tasks of a runtime, whose scheduler
//! would be counted.

use std::pin::Pin;

use crate::{
    attempt::Attempt,
    contenders::{Presized, Scan},
    least,
    workload::{self, Workload},
};

pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Runs this many turns of a workload.
    pub(crate) run: fn(Workload, u64),
}

/// The index of ours in [`ROWS`].
pub(crate) const OURS: usize = 0;
/// The index of ours, told its size, in [`ROWS`].
pub(crate) const PRESIZED: usize = 1;
/// The index of the first peer in [`ROWS`].
pub(crate) const FIRST_PEER: usize = 2;
/// The index of the hand-written minimum in [`ROWS`].
pub(crate) const LEAST: usize = 8;

pub(crate) const ROWS: [Row; 9] = [
    row("ours", workload::run::<race_core::Attempts<Attempt>>),
    row("ours, presized", workload::run::<Presized<Attempt>>),
    row(
        "Bounded (futures-buffered)",
        workload::run::<futures_buffered::FuturesUnorderedBounded<Attempt>>,
    ),
    row(
        "growing (futures-buffered)",
        workload::run::<futures_buffered::FuturesUnordered<Attempt>>,
    ),
    row(
        "futures-util",
        workload::run::<futures::stream::FuturesUnordered<Attempt>>,
    ),
    row(
        "unicycle",
        workload::run::<unicycle::FuturesUnordered<Attempt>>,
    ),
    row(
        "FutureGroup",
        workload::run::<Pin<Box<futures_concurrency::future::FutureGroup<Attempt>>>>,
    ),
    row("race 0.1.15, its scan", workload::run::<Scan<Attempt>>),
    row("least: one atomic, one poll", least::run),
];

const fn row(name: &'static str, run: fn(Workload, u64)) -> Row {
    Row { name, run }
}
