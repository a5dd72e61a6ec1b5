//! The tests that `V3.md` names are there.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The rows of the table of requirements: number, requirement, owner, test.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = lines.map(|line| line.split(" | ").map(|it| it.trim_matches([' ', '|'])));
    let rows = cells.map(|it| it.map(str::to_owned).collect::<Vec<_>>());
    rows.filter(|row| row[0].parse::<u32>().is_ok()).collect()
}

/// The names in backticks that have the form of a path of a test.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let is_path = |it: &String| {
        let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c);
        it.contains("::") && it.chars().all(is_small)
    };
    quoted.filter(is_path).collect()
}

/// Whether a path, such as `v3::order::name`, is that of a test: its first part is a target.
fn exists(path: &str) -> bool {
    let (file, test) = path.rsplit_once("::").unwrap();
    let file = folder().join("tests").join(file.replace("::", "/"));
    let files = [file.with_extension("rs"), file.join("mod.rs")];
    let text = files.iter().find_map(|it| fs::read_to_string(it).ok());
    let text = text.unwrap_or_default();
    text.match_indices(&format!("fn {test}(")).any(|(at, _)| {
        let before: Vec<_> = text[..at].lines().rev().take(3).collect();
        before
            .iter()
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn each_test_that_the_table_names_exists() {
    let text = fs::read_to_string(folder().join("V3.md")).unwrap();
    let named = named(&text);
    assert!(named.len() > 80, "they are found");
    let missing: Vec<_> = named.iter().filter(|it| !exists(it)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(!exists("v3::table::exists"), "it is no test");
    assert!(!exists("v3::order::no_such_test"));
}

#[test]
fn each_requirement_of_ours_has_a_test() {
    let text = fs::read_to_string(folder().join("V3.md")).unwrap();
    let rows = rows(&text);
    let numbers: Vec<_> = rows
        .iter()
        .map(|it| it[0].parse::<usize>().unwrap())
        .collect();
    let counted: Vec<_> = (1..=rows.len()).collect();
    assert_eq!(numbers, counted, "the rows are numbered");
    assert!(rows.iter().all(|it| it.len() == 4), "{rows:#?}");
    let is_ours = |it: &&Vec<String>| it[2].contains("core") || it[2].contains("connector");
    let ours: Vec<_> = rows.iter().filter(is_ours).collect();
    let without = ours.iter().filter(|it| named(&it[3]).is_empty());
    assert_eq!(without.collect::<Vec<_>>(), Vec::<&&Vec<String>>::new());
}
