//! `ARCHITECTURE.md` names files that exist.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::workspace;

/// Where the paths of a table can begin.
struct Table {
    header: &'static str,
    folders: &'static [&'static str],
}

const TABLES: [Table; 3] = [
    Table {
        header: "| race | file |",
        folders: &["crates/race-core/src"],
    },
    Table {
        header: "| hyper-delay | file |",
        folders: &["crates/hyper-delay/src", "crates/hyper-delay", ""],
    },
    Table {
        header: "| tests | folder |",
        folders: &[""],
    },
];

/// Returns the paths that a cell names in backticks.
fn paths(cell: &str) -> Vec<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|it| it.contains('/') || it.ends_with(".rs"));
    paths.flat_map(alternatives).collect()
}

/// Returns the paths that `a/{b,c}.rs` stands for.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let (names, after) = rest.split_once('}').expect("a brace is closed");
    let names = names.split(',');
    names.map(|name| format!("{before}{name}{after}")).collect()
}

/// Returns where a path can be: `engine/clock.rs` is in the crate `hyper-delay-engine`.
fn places(root: &Path, table: &Table, before: Option<&Path>, path: &str) -> Vec<PathBuf> {
    let mut places: Vec<_> = table
        .folders
        .iter()
        .map(|folder| root.join(folder).join(path))
        .collect();
    if let Some((name, rest)) = path.split_once('/') {
        places.push(root.join(format!("crates/hyper-delay-{name}/src/{rest}")));
    }
    // A file beside the one named before it.
    places.extend(
        before
            .and_then(Path::parent)
            .map(|folder| folder.join(path)),
    );
    places
}

/// Adds the sources in a folder.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in workspace::entries(folder).expect("a folder can be read") {
        if entry.is_dir() && entry.file_name().is_some_and(|name| name != "target") {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|it| it == "rs") {
            found.push(entry.display().to_string());
        }
    }
}

#[test]
fn documents_name_sources_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in ["benches", "crates", "examples", "tests", "xtask"] {
        sources(&root.join(folder), &mut found);
    }
    let exists = |path: &str| {
        let of_crate = path.split_once('/');
        let of_crate = of_crate.map(|(name, rest)| format!("hyper-delay-{name}/src/{rest}"));
        let ends = [Some(format!("/{path}")), of_crate];
        let mut ends = ends.iter().flatten();
        ends.any(|end| found.iter().any(|file| file.ends_with(end)))
    };
    let mut documents = workspace::entries(&root.join("docs/decisions")).expect("there are some");
    documents.push(root.join("ARCHITECTURE.md"));
    let mut missing = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).expect("a document can be read");
        let named = paths(&text).into_iter().filter(|it| it.ends_with(".rs"));
        missing.extend(named.filter(|path| !exists(path)));
    }
    assert!(missing.is_empty(), "there is no {missing:#?}");
}

#[test]
fn the_architecture_names_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = include_str!("../../ARCHITECTURE.md");
    let (mut found, mut missing) = (0, Vec::new());
    for table in &TABLES {
        let rows = text.split(table.header).nth(1).expect("the table is there");
        let rows = rows
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        for row in rows {
            let cell = row.split('|').nth(2).expect("a row has two cells");
            let mut before: Option<PathBuf> = None;
            for path in paths(cell) {
                let places = places(&root, table, before.as_deref(), &path);
                match places.into_iter().find(|place| place.exists()) {
                    Some(place) => {
                        found += 1;
                        before = Some(place);
                    }
                    None => missing.push(path),
                }
            }
        }
    }
    assert!(missing.is_empty(), "there is no {missing:#?}");
    assert!(found > 150, "only {found} paths were found");
}
