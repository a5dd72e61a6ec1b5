//! Runs the corpus of the fuzz target `http` as an ordinary test.

mod http_request;

use std::{collections::BTreeSet, fs, path::Path};

/// The operations of the table in the protocol text.
const OPERATIONS: usize = 18;

/// A file's name starts with its result: `good` or `bad`.
#[test]
fn every_request_of_the_corpus_has_the_result_in_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/http");
    let (mut good, mut bad) = (BTreeSet::new(), 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match http_request::check(&fs::read(&path).unwrap()) {
            Some((path, line)) => {
                assert!(name.starts_with("good-"), "{name}: {line:?}");
                let request = format!("{:?}", line.request);
                let kind = request.split([' ', '(']).next().unwrap();
                good.insert(format!("{path} {kind}"));
            }
            None => {
                assert!(name.starts_with("bad-"), "{name}");
                bad += 1;
            }
        }
    }
    assert_eq!(good.len(), OPERATIONS, "{good:?}");
    assert!(bad >= 10, "{bad}");
}
