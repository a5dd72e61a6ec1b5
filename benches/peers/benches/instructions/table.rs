//! Counts and prints the selected cells.

use std::{
    error::Error,
    io::{Write, stdout},
};

use crate::{
    callgrind::{Turns, compiler, per_turn},
    check::Check,
    locked::Locked,
    rows::{LEAST, OURS, PRESIZED, ROWS},
    selection::Selection,
    targets::{COLUMNS, Column},
    workload::Workload,
};

/// The argument of a run under callgrind.
pub(crate) const COUNTED_RUN: &str = "--counted-run";

/// The instructions of a cell, about a second under callgrind.
const INSTRUCTIONS: f64 = 10e6;

/// Prints the table. Returns whether all targets are met, or `true` if the counts are not judged.
pub(crate) fn print(selection: &Selection) -> Result<bool, Box<dyn Error>> {
    let is_judged = compiler::print()? && selection.is_judged;
    println!("instructions per operation");
    line("", selection, |column| Ok(COLUMNS[column].name.into()))?;
    let mut check = Check::default();
    for &row in &selection.rows {
        line(ROWS[row].name, selection, |column| {
            if !is_counted(row, column) {
                return Ok("-".into());
            }
            let workload = COLUMNS[column].workload;
            let cell = [row.to_string(), column.to_string()];
            let count = per_turn(&[COUNTED_RUN, &cell[0], &cell[1]], turns(row, column))?;
            let count = count / workload.operations() as f64;
            check.instructions(row, &COLUMNS[column], count);
            Ok(thousands(count))
        })?;
        if row == OURS {
            let locked = Locked::new()?;
            line("  locked", selection, |column| {
                let count = locked.per_turn(row, column, turns(row, column))?;
                let count = count / COLUMNS[column].workload.operations() as f64;
                check.locked(&COLUMNS[column], count);
                Ok(format!("{count:.2}"))
            })?;
            limits("  at most", selection, |column| column.at_most)?;
            limits("  locked, at most", selection, |column| column.locked)?;
        }
        if row == PRESIZED {
            limits("  at most", selection, |column| column.presized)?;
        }
    }
    Ok(!is_judged || check.conclude())
}

/// Prints the limits of a row.
fn limits(
    name: &str,
    selection: &Selection,
    limit: fn(&Column) -> Option<f64>,
) -> Result<(), Box<dyn Error>> {
    line(name, selection, |column| {
        Ok(limit(&COLUMNS[column]).map_or("-".into(), thousands))
    })
}

/// Prints a line, cell by cell.
fn line(
    name: &str,
    selection: &Selection,
    mut cell: impl FnMut(usize) -> Result<String, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    print!("{name:<28}");
    for &column in &selection.columns {
        let width = COLUMNS[column].name.len().max(7) + 2;
        print!("{:>width$}", cell(column)?);
        stdout().flush()?;
    }
    println!();
    Ok(())
}

/// The minimum has no batch. `WakeSeveral` only counts our locked instructions.
fn is_counted(row: usize, column: usize) -> bool {
    match COLUMNS[column].workload {
        Workload::WakeSeveral(..) => row == OURS,
        Workload::Batch(_) => row != LEAST,
        Workload::Wake(_) | Workload::InOut(_) | Workload::Drain(_) | Workload::First(_) => true,
    }
}

fn turns(row: usize, column: usize) -> Turns {
    let column = &COLUMNS[column];
    let expected = column.recorded(row).or(column.at_most).unwrap_or(500.0);
    let expected = expected * column.workload.operations() as f64;
    let many = (INSTRUCTIONS / expected).clamp(10.0, 10_000.0) as u64;
    Turns {
        few: many / 10,
        many,
    }
}

/// Rounds, and separates the thousands.
fn thousands(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
