//! The targets, and whether they are met.

use crate::{RANGES, rounds::Times};

/// The ratio to `DelayQueue`: insert, cancel, expire.
const BESIDE_DELAY_QUEUE: Times = [0.7, 0.3, 0.25];
/// Nanoseconds.
const AT_MOST: [Times; 2] = [[30.0, 10.0, 60.0], [30.0, 10.0, 150.0]];
const BYTES: f64 = 40.0;

pub(crate) fn times(cells: &[Vec<Times>]) {
    println!("\ntargets");
    for ((range, _), (cells, at_most)) in RANGES.iter().zip(cells.iter().zip(AT_MOST)) {
        let (ours, peers) = cells.split_first().expect("ours is first");
        let ratio = |peer: &Times| [0, 1, 2].map(|at| ours[at] / peer[at]);
        row(range, "at most, ns", *ours, at_most);
        row(
            range,
            "beside DelayQueue",
            ratio(&peers[0]),
            BESIDE_DELAY_QUEUE,
        );
        // The other wheel and the map. A heap is left out: it mostly appends to a vector.
        let best = peers[1..3]
            .iter()
            .map(ratio)
            .fold([0.0; 3], |worst, ratio| {
                [0, 1, 2].map(|at| ratio[at].max(worst[at]))
            });
        row(range, "beside the better of the next two", best, [1.0; 3]);
    }
}

pub(crate) fn bytes(cells: &[Vec<f64>]) {
    println!("\ntargets");
    for ((range, _), cells) in RANGES.iter().zip(cells) {
        println!("  {range:<6} {:<32} {}", "bytes", verdict(cells[0], BYTES));
    }
}

fn row(range: &str, what: &str, values: Times, targets: Times) {
    print!("  {range:<6} {what:<32}");
    for (value, target) in values.into_iter().zip(targets) {
        print!(" {}", verdict(value, target));
    }
    println!();
}

fn verdict(value: f64, target: f64) -> String {
    let verdict = if value <= target { "met" } else { "MISSED" };
    format!("{value:>7.2} of {target:<6} {verdict:<7}")
}
