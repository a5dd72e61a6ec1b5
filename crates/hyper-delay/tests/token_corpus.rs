//! Runs the corpus of the fuzz target `tokens` as an ordinary test.

mod token_file;

use std::{fs, path::Path};

/// A file's name starts with its result: `good` or `bad`.
#[test]
fn every_file_of_the_corpus_has_the_result_in_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/tokens");
    let mut results = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_good = token_file::check(&fs::read(&path).unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        let expected = if is_good { "good-" } else { "bad-" };
        assert!(name.starts_with(expected), "{name}");
        results[usize::from(is_good)] += 1;
    }
    assert!(results.iter().all(|count| *count >= 2), "{results:?}");
}
