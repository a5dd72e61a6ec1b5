//! Runs the corpus of the fuzz target as an ordinary test.

mod wire;

use std::{collections::BTreeSet, fs, path::Path};

use hyper_delay::protocol::parse;

/// A file's name starts with the result of each of its lines: `good`, the code of an error, or
/// `mixed` for several results.
#[test]
fn every_line_of_the_corpus_has_the_result_in_its_file_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/lines");
    let mut answers = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        wire::check(&bytes);
        let name = path.file_name().unwrap().to_str().unwrap();
        let (expected, _) = name.split_once('-').expect(name);
        answers.insert(expected.to_owned());
        for (_, line) in wire::split(65_536, [&bytes[..]]) {
            let answer = match line.map(|line| parse(&line)) {
                Some(Ok(_)) => "good",
                Some(Err(refusal)) => refusal.code.as_str(),
                None => "line_too_long",
            };
            assert!(
                expected == answer || expected == "mixed",
                "{name}: {answer}"
            );
        }
    }
    let all = [
        "bad_base64",
        "bad_field",
        "bad_json",
        "bad_utf8",
        "good",
        "line_too_long",
        "missing_field",
        "mixed",
        "unknown_kind",
    ];
    assert_eq!(answers, all.map(str::to_owned).into());
}
