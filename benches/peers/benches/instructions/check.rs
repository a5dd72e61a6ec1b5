//! Compares counts with the targets and the record.

use crate::{
    callgrind::compiler::RUSTC,
    rows::{OURS, PRESIZED, ROWS},
    targets::{Column, DRIFT},
};

/// The deviations from the targets and the record, in the order of the cells.
#[derive(Default)]
pub(crate) struct Check {
    failures: Vec<String>,
    /// Cells that miss their target and are accepted.
    known_misses: Vec<String>,
}

impl Check {
    pub(crate) fn instructions(&mut self, row: usize, column: &Column, count: f64) {
        let cell = format!(
            "{}, {}: {count:.0} instructions",
            ROWS[row].name, column.name
        );
        if row == OURS {
            self.target(&cell, column, count.round());
        } else if row == PRESIZED {
            if let Some(at_most) = column.presized
                && count.round() > at_most
            {
                self.failures
                    .push(format!("{cell}, at most {at_most} allowed"));
            }
        } else if let Some(expected) = column.recorded(row)
            && (count / expected - 1.0).abs() > DRIFT
        {
            self.failures.push(format!(
                "{cell}, {expected} recorded with rustc {RUSTC}: the peer, the C library or rustc \
                 differs; measure the table again"
            ));
        }
    }

    fn target(&mut self, cell: &str, column: &Column, count: f64) {
        let (Some(at_most), Some(accepted)) = (column.at_most, column.accepted()) else {
            return;
        };
        if count > accepted {
            let failure = format!("{cell}, at most {accepted} allowed");
            self.failures.push(failure);
        } else if count > at_most {
            let miss = format!("{cell}, target {at_most}, at most {accepted} accepted");
            self.known_misses.push(miss);
        }
    }

    pub(crate) fn locked(&mut self, column: &Column, count: f64) {
        if let Some(at_most) = column.locked
            && count > at_most + 0.005
        {
            self.failures.push(format!(
                "{}, {}: {count:.2} locked instructions, at most {at_most} allowed",
                ROWS[OURS].name, column.name,
            ));
        }
    }

    /// Prints the deviations. Returns whether nothing failed.
    pub(crate) fn conclude(self) -> bool {
        for miss in &self.known_misses {
            println!("known miss: {miss}");
        }
        for failure in &self.failures {
            println!("MISSED {failure}");
        }
        self.failures.is_empty()
    }
}
