//! The README's table of runtimes and targets has the numbers of this run.

use std::fs;

use crate::step::Outcome;

/// Checks the lines `TARGET: N passed` against the table.
pub(super) fn check(report: &[String]) -> Outcome {
    let readme = fs::read_to_string("README.md").map_err(|error| format!("README.md: {error}"))?;
    for line in report {
        let Some((target, count)) = passed(line) else {
            continue;
        };
        let mut rows = readme.lines().filter_map(|row| row.strip_prefix("| "));
        let row = rows.find(|row| row.starts_with(target));
        let row = row.ok_or_else(|| format!("the table in README.md has no row {target:?}"))?;
        let mut numbers = row.split(|c: char| !c.is_ascii_digit());
        if !numbers.any(|number| number == count) {
            return Err(format!(
                "{line}: the row {target:?} in README.md has no {count}"
            ));
        }
    }
    Ok(())
}

/// The target and the number of checks in a line of the report.
fn passed(line: &str) -> Option<(&str, &str)> {
    let (target, rest) = line.split_once(": ")?;
    let (count, _) = rest.split_once(" passed")?;
    let is_number = !count.is_empty() && count.chars().all(|c| c.is_ascii_digit());
    is_number.then_some((target, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_a_target_and_a_number() {
        let line = "thumbv6m on microbit: 52 passed (without alloc)";
        assert_eq!(passed(line), Some(("thumbv6m on microbit", "52")));
        assert_eq!(passed("aarch64-apple-darwin: the libraries compile"), None);
    }
}
