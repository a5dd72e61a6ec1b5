//! Counts the instructions and the locked instructions of the sets with callgrind: `cargo bench
//! --profile counts --bench instructions [-- [--print-only] WORD..]`. Needs valgrind and binutils.
//!
//! A word selects the rows or the columns whose name contains it, or the one with exactly this
//! name. A word that selects nothing is an error; as `--optional=WORD` it is ignored. If all words
//! are ignored, nothing is counted.
//!
//! Fails if ours misses a target of [`targets`], and if the count of another row is more than 3 %
//! off its record. A count of ours above its target, but not above that of
//! [`targets::ACCEPTED`], is printed as a known miss and does not fail. With `--print-only`, or if
//! this executable was compiled with another version of rustc than the recorded one, prints the
//! counts without judging them.

mod attempt;
#[path = "../../../callgrind/mod.rs"]
mod callgrind;
mod check;
#[expect(dead_code, reason = "the names are shorter here")]
#[path = "../attempts/contenders.rs"]
mod contenders;
#[expect(dead_code, reason = "`attempt` has other futures")]
#[path = "../attempts/future.rs"]
mod future;
mod least;
mod locked;
mod rows;
mod selection;
mod table;
mod targets;
mod workload;

use std::{env, error::Error, process::ExitCode};

use selection::Selection;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let done = match &arguments[..] {
        [flag, row, column, turns] if flag == table::COUNTED_RUN => {
            counted_run(row, column, turns).map(|()| true)
        }
        words => match Selection::new(words) {
            Ok(Some(selection)) => table::print(&selection),
            Ok(None) => Ok(true),
            Err(error) => Err(error),
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one cell of the table under callgrind.
fn counted_run(row: &str, column: &str, turns: &str) -> Result<(), Box<dyn Error>> {
    let row = &rows::ROWS[row.parse::<usize>()?];
    (row.run)(
        targets::COLUMNS[column.parse::<usize>()?].workload,
        turns.parse()?,
    );
    Ok(())
}
