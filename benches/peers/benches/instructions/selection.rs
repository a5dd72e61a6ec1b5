//! The rows and columns that the words of the command line select.

use std::error::Error;

use crate::{rows::ROWS, targets::COLUMNS};

pub(crate) struct Selection {
    pub(crate) rows: Vec<usize>,
    pub(crate) columns: Vec<usize>,
    /// Whether the counts are compared with the targets.
    pub(crate) is_judged: bool,
}

impl Selection {
    /// Parses the arguments. Returns `None` if all words are optional and none selects anything.
    pub(crate) fn new(arguments: &[String]) -> Result<Option<Self>, Box<dyn Error>> {
        let (mut words, mut is_judged) = (Vec::new(), true);
        for argument in arguments {
            if argument == "--print-only" {
                is_judged = false;
            } else if let Some(word) = argument.strip_prefix("--optional=") {
                words.push((word, true));
            } else if argument.starts_with("--") {
                return Err(format!("unknown option `{argument}`; use --print-only").into());
            } else {
                words.push((argument, false));
            }
        }
        let selects_all = words.is_empty();
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for (word, is_optional) in words {
            let by_row = matches(word, ROWS.iter().map(|row| row.name));
            let by_column = matches(word, COLUMNS.iter().map(|column| column.name));
            if by_row.is_empty() && by_column.is_empty() && !is_optional {
                return Err(format!("no row and no column contains `{word}`").into());
            }
            rows.extend(by_row);
            columns.extend(by_column);
        }
        if rows.is_empty() && columns.is_empty() && !selects_all {
            return Ok(None);
        }
        Ok(Some(Self {
            rows: or_all(rows, ROWS.len()),
            columns: or_all(columns, COLUMNS.len()),
            is_judged,
        }))
    }
}

/// Returns the indices of the names that contain a word, or of the name that equals it.
fn matches<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    if let Some(index) = names.clone().position(|name| name == word) {
        return vec![index];
    }
    names
        .enumerate()
        .filter(|(_, name)| name.contains(word))
        .map(|(index, _)| index)
        .collect()
}

fn or_all(mut selected: Vec<usize>, count: usize) -> Vec<usize> {
    if selected.is_empty() {
        return (0..count).collect();
    }
    selected.sort_unstable();
    selected.dedup();
    selected
}
