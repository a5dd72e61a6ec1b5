//! Prints the tables.

use crate::{
    RANGES,
    rounds::{Entrant, Times},
};

const WORK: [&str; 3] = ["insert", "cancel", "expire"];

/// The times, and the ratio of ours to each.
pub(crate) fn times(entrants: &[Entrant], cells: &[Vec<Times>]) {
    for ((range, _), cells) in RANGES.iter().zip(cells) {
        println!("\na million timers within {range}, half cancelled; ns, and the ratio of ours");
        print!("  {:<36}", "");
        WORK.iter().for_each(|work| print!("{work:>18}"));
        println!();
        for (entrant, times) in entrants.iter().zip(cells) {
            print!("  {:<36}", entrant.name);
            for (ours, time) in cells[0].iter().zip(times) {
                print!("{time:>10.1} {:>7.2}", ours / time);
            }
            println!();
        }
    }
}

/// Bytes per timer, for each range.
pub(crate) fn bytes(entrants: &[Entrant], cells: &[Vec<f64>]) {
    println!("\nbytes per timer beyond its value, a million timers");
    print!("  {:<36}", "");
    RANGES.iter().for_each(|(range, _)| print!("{range:>10}"));
    println!();
    for (at, entrant) in entrants.iter().enumerate() {
        print!("  {:<36}", entrant.name);
        cells.iter().for_each(|cells| print!("{:>10.1}", cells[at]));
        println!();
    }
}
