//! Pairs of features that the code mentions together.

/// The pairs, with their libraries. A test looks for those that are missing, and for those that
/// nothing mentions any more.
pub(super) const PAIRS: [(&str, &str); 10] = [
    ("hyper-delay", "cluster,internals"),
    ("race", "std,web"),
    ("race-balance", "tower,tracing"),
    ("race-connect", "hickory,tokio"),
    ("race-connect", "hyper,rustls"),
    ("race-core", "adaptive,test-util"),
    ("race-core", "alloc,conformance"),
    ("race-core", "alloc,portable-atomic"),
    ("race-core", "alloc,std"),
    ("race-core", "alloc,test-util"),
];

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;
    use crate::workspace::{self, features_in};

    type Pairs = BTreeSet<[String; 2]>;

    /// The pairs that a library mentions: in an `all(..)` of its code, and in a feature that turns
    /// on another one of an optional dependency (`dependency?/feature`).
    fn mentioned(folder: &Path) -> Pairs {
        let mut pairs = Pairs::new();
        for file in sources(&folder.join("src")) {
            let code = fs::read_to_string(&file).expect("a source can be read");
            in_code(&code, &mut pairs);
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("there is a manifest");
        in_manifest(&manifest, &mut pairs);
        pairs
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = workspace::entries(folder).expect("a folder can be read");
        let sources = entries.into_iter().flat_map(|entry| match entry.is_dir() {
            true => sources(&entry),
            false => vec![entry],
        });
        sources
            .filter(|file| file.extension().is_some_and(|it| it == "rs"))
            .collect()
    }

    fn in_code(code: &str, pairs: &mut Pairs) {
        for (place, begin) in code.match_indices("all(") {
            let is_in_word = code[..place].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let Some(inside) = balanced(&code[place + begin.len()..]).filter(|_| !is_in_word)
            else {
                continue;
            };
            let names = inside.match_indices("feature = \"").map(|(place, begin)| {
                let rest = &inside[place + begin.len()..];
                rest.split('"').next().unwrap_or_default().to_owned()
            });
            insert(names.collect(), pairs);
        }
    }

    /// Returns what is before the parenthesis that closes.
    fn balanced(text: &str) -> Option<&str> {
        let mut open = 1;
        let end = text.find(|c| {
            open += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            open == 0
        });
        Some(&text[..end?])
    }

    fn in_manifest(manifest: &str, pairs: &mut Pairs) {
        let features = features_in(manifest);
        for (feature, turns_on) in &features {
            let weak = turns_on.iter().filter_map(|it| it.split_once("?/"));
            for (dependency, _) in weak {
                let needs = format!("dep:{dependency}");
                let others = features.iter().filter(|(_, it)| it.contains(&needs));
                for (other, _) in others {
                    insert([feature.clone(), other.clone()].into(), pairs);
                }
            }
        }
    }

    fn insert(names: BTreeSet<String>, pairs: &mut Pairs) {
        for (place, one) in names.iter().enumerate() {
            for other in names.iter().skip(place + 1) {
                pairs.insert([one.clone(), other.clone()]);
            }
        }
    }

    #[test]
    fn pairs_that_the_code_mentions_are_linted_and_no_others() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut found = Vec::new();
        for folder in workspace::folders(&crates).expect("there are crates") {
            let name = folder.file_name().expect("it has a name").to_string_lossy();
            let pairs = mentioned(&folder).into_iter();
            found.extend(pairs.map(|pair| (name.clone().into_owned(), pair.join(","))));
        }
        let listed = PAIRS.map(|(name, pair)| (name.to_owned(), pair.to_owned()));
        assert_eq!(found, listed);
    }

    #[test]
    fn pairs_are_found_in_code_and_in_manifests() {
        let code = r#"
            #[cfg(all(feature = "b", not(feature = "a"), test))]
            #[cfg(any(feature = "x", feature = "y"))]
            #[cfg(any(all(
                feature = "c",
                feature = "a",
            ), feature = "z"))]
            fn install(feature = "q", feature = "r") {}
        "#;
        let mut pairs = Pairs::new();
        in_code(code, &mut pairs);
        let pair = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
        assert_eq!(pairs, [pair("a", "b"), pair("a", "c")].into());
        let manifest = "[package]\n[features]\n# A list.\na = [\n    \"dep:d\",\n]\n\
                        b = [\"e?/x\", \"d?/x\"]\n\n[dependencies]\nc = [\"d?/x\"]\n";
        let mut pairs = Pairs::new();
        in_manifest(manifest, &mut pairs);
        assert_eq!(pairs, [pair("a", "b")].into());
    }
}
