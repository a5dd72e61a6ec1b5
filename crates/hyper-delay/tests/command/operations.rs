//! `docs/operations.md` has every warning and error of the server's log.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The sources of messages that are not literals where they are logged.
const PLACEHOLDERS: [(&str, &str); 3] = [
    // The texts are those of `Warning::text`, checked below.
    ("log_limit.rs", "{}"),
    // The texts are those of `CertificateProblem`, which is one of `ENDINGS`.
    ("validity.rs", "{problem}"),
    // It begins with the name of the variable.
    ("log.rs", "{complaint}"),
];

/// Files whose `#[error("…")]` are in the page: errors on which the server ends, and what is wrong
/// with a certificate.
const ENDINGS: [&str; 5] = [
    "hyper-delay-server/src/error.rs",
    "hyper-delay-server/src/tls/error.rs",
    "hyper-delay-server/src/tls/validity.rs",
    "hyper-delay-cluster/src/serving_node/error.rs",
    "hyper-delay-cluster/src/node/error.rs",
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The page with single spaces and without the marks of code.
fn page() -> String {
    let page = read(&root().join("../../../docs/operations.md"));
    words(&page.replace('`', ""))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sources of the server's crates.
fn crates() -> Vec<PathBuf> {
    let all = fs::read_dir(root().join("../..")).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let of_server = names.filter(|name| {
        name.starts_with("hyper-delay")
            && !["hyper-delay-client", "hyper-delay-etcd"].contains(&&**name)
    });
    let sources = of_server.map(|name| root().join("../..").join(name).join("src"));
    sources.collect()
}

/// Their files, without tests.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for source in crates() {
        sources(&source, &mut files);
    }
    files
}

/// All source files of a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Splits Rust code after `start` into its string literals, up to the parenthesis that closes the
/// one before `start`.
fn literals(code: &str) -> Vec<String> {
    let mut depth = 1;
    let mut literals = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '"' => {
                let mut literal = String::new();
                while let Some(letter) = letters.next_if(|letter| *letter != '"') {
                    match (letter, letters.peek()) {
                        // A line that goes on: the next one begins at its first word.
                        ('\\', Some('\n')) => {
                            while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
                        }
                        ('\\', Some(_)) => literal.extend(letters.next()),
                        (letter, _) => literal.push(letter),
                    }
                }
                letters.next();
                literals.push(literal);
            }
            _ => {}
        }
        if depth == 0 {
            return literals;
        }
    }
    panic!("a call has no end: {code}");
}

/// The parts of a message between its placeholders.
fn parts(message: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut in_placeholder = false;
    for letter in message.replace("{{", "").replace("}}", "").chars() {
        match letter {
            '{' => in_placeholder = true,
            '}' => {
                in_placeholder = false;
                parts.push(String::new());
            }
            letter if !in_placeholder => parts.last_mut().unwrap().push(letter),
            _ => {}
        }
    }
    let parts = parts.iter().map(|part| words(&part.replace('`', "")));
    parts.filter(|part| !part.is_empty()).collect()
}

/// Asserts that the page has all parts of a message.
#[track_caller]
fn assert_described(page: &str, file: &Path, message: &str) {
    let missing: Vec<_> = parts(message)
        .into_iter()
        .filter(|part| !page.contains(part))
        .collect();
    assert!(
        missing.is_empty(),
        "{}: docs/operations.md lacks {missing:?} of {message:?}: add it with cause and cure",
        file.display()
    );
}

#[test]
fn the_page_has_every_warning_and_error_of_the_log() {
    let page = page();
    let files = files();
    let mut count = 0;
    for file in files {
        let code = read(&file);
        // Unit tests stand at the end.
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for call in ["warn!(", "error!("] {
            for (_, rest) in code.match_indices(call).map(|(at, _)| code.split_at(at)) {
                let found = literals(&rest[call.len()..]);
                let message = found.last().unwrap_or_else(|| {
                    panic!("{}: no message in {call} {rest:.80}", file.display())
                });
                let name = file.file_name().unwrap().to_str().unwrap();
                if !PLACEHOLDERS.contains(&(name, message)) {
                    assert_described(&page, &file, message);
                }
                count += 1;
            }
        }
    }
    assert!(count >= 25, "only {count} messages were found");
}

#[test]
fn the_page_has_every_warning_of_which_there_can_be_many() {
    let file = root().join("../../hyper-delay-server/src/log_limit.rs");
    let code = read(&file);
    let texts: Vec<_> = code
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \""))
        .filter_map(|(_, text)| text.strip_suffix("\","))
        .collect();
    assert!(texts.len() >= 5, "{texts:?}");
    for text in texts {
        assert_described(&page(), &file, text);
    }
}

#[test]
fn the_page_has_every_error_on_which_the_server_ends() {
    let page = page();
    for file in ENDINGS.map(|file| root().join("../..").join(file)) {
        let code = read(&file);
        let mut count = 0;
        for (_, rest) in code
            .match_indices("#[error(")
            .map(|(at, _)| code.split_at(at))
        {
            let found = literals(&rest["#[error(".len()..]);
            if let Some(message) = found.first() {
                assert_described(&page, &file, message);
                count += 1;
            }
        }
        assert!(count >= 2, "{count} errors in {}", file.display());
    }
}

#[test]
fn the_alarms_are_on_metrics_that_exist() {
    let page = page() + " " + &read(&root().join("../../../docs/cluster.md"));
    let metrics = read(&root().join("../METRICS.md"));
    let names: Vec<&str> = page
        .split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'))
        .filter(|word| word.starts_with("hyper_delay_"))
        .map(|name| name.strip_suffix("_total").unwrap_or(name))
        .collect();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        assert!(metrics.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn the_page_has_the_cures_of_a_store_that_fails() {
    let page = page();
    let files = files();
    for cure in [
        "look at the disk, then start the server again",
        "its files are damaged: stop the server",
        "another process uses it; stop that process or set another data_dir",
        "acknowledged data is missing from the data_dir",
    ] {
        let is_said = |file: &PathBuf| words(&read(file).replace("\\\n", "")).contains(cure);
        assert!(files.iter().any(is_said), "no source says {cure:?}");
        assert!(page.contains(cure), "{cure}");
    }
}

#[test]
fn a_message_is_read_as_the_compiler_reads_it() {
    let code = "x, (y), \"a \\\"b\\\" \\\n        c {d} e\"); after(\"no\")";
    assert_eq!(literals(code), ["a \"b\" c {d} e"]);
    assert_eq!(parts("a {b} c {{d}}: {}"), ["a", "c d:"]);
}
