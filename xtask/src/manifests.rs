//! What the manifests of published crates must have.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::workspace;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders and the manifests of the crates that are published.
fn published() -> Vec<(PathBuf, String)> {
    let folders = workspace::folders(&root().join("crates")).expect("there are crates");
    let read = |folder: PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("there is a manifest");
        (folder, manifest)
    };
    let crates = folders.into_iter().map(read);
    crates
        .filter(|(_, manifest)| !manifest.contains("\npublish = false\n"))
        .collect()
}

/// The lines of the section `[name]`.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let header = format!("[{name}]");
    let lines = manifest.lines().skip_while(|line| *line != header);
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    lines.filter(|line| !line.is_empty()).collect()
}

/// The lines that a registry's page or docs.rs needs and `manifest` lacks.
fn missing(manifest: &str) -> Vec<String> {
    let package = section(manifest, "package");
    let has = |lines: &[&str], key: &str| {
        let inherited = format!("{key}.workspace = true");
        let own = format!("{key} = ");
        let is_it = |line: &&str| **line == inherited || line.starts_with(&own);
        lines.iter().any(is_it)
    };
    let keys = [
        "description",
        "version",
        "edition",
        "rust-version",
        "license",
        "keywords",
        "categories",
        "readme",
    ];
    let keys = keys.into_iter().filter(|key| !has(&package, key));
    let mut missing: Vec<String> = keys.map(|key| format!("package.{key}")).collect();
    let docs = section(manifest, "package.metadata.docs.rs");
    if !docs.contains(&r#"rustdoc-args = ["--cfg", "docsrs"]"#) {
        missing.push("package.metadata.docs.rs.rustdoc-args".to_owned());
    }
    if !has(&docs, "targets") {
        missing.push("package.metadata.docs.rs.targets".to_owned());
    }
    let has_features = !section(manifest, "features").is_empty();
    if has_features && !has(&docs, "all-features") && !has(&docs, "features") {
        missing.push("package.metadata.docs.rs.features".to_owned());
    }
    missing
}

/// The dev-dependencies on crates of the workspace that would have a version when published.
///
/// Cargo leaves a dev-dependency without a version out of the published manifest. With one, it must
/// be published before the crate that it tests, which no order allows for crates that test each
/// other.
fn versioned(manifest: &str, crates: &BTreeSet<String>) -> Vec<String> {
    let dependencies = section(manifest, "dev-dependencies");
    let own = dependencies.iter().filter_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        let is_versioned = !value.contains("path = ") || value.contains("version = ");
        (crates.contains(name) && is_versioned).then(|| name.to_owned())
    });
    own.collect()
}

#[test]
fn published_crates_have_what_a_registry_and_docs_rs_show() {
    let crates = published();
    assert!(crates.len() > 10, "they are found");
    for (folder, manifest) in crates {
        let missing = missing(&manifest);
        assert!(missing.is_empty(), "{}: add {missing:?}", folder.display());
        assert!(
            !manifest.contains("\nrepository"),
            "{}: `cargo xtask package --repository URL` writes the field",
            folder.display()
        );
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let path = folder.join(file);
            assert!(path.is_file(), "{} is missing", path.display());
        }
    }
}

#[test]
fn crates_with_features_mark_them_on_docs_rs() {
    for (folder, manifest) in published() {
        if section(&manifest, "features").is_empty() {
            continue;
        }
        let library = folder.join("src/lib.rs");
        let code = fs::read_to_string(&library).expect("a crate has a library");
        assert!(
            code.contains("\n#![cfg_attr(docsrs, feature(doc_cfg))]\n"),
            "{}: docs.rs shows no features",
            library.display()
        );
    }
}

#[test]
fn dev_dependencies_of_published_crates_on_each_other_have_no_version() {
    let crates = published();
    let name = |folder: &Path| folder.file_name().expect("it has a name").to_owned();
    let names = crates.iter().map(|(folder, _)| name(folder));
    let names = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    for (folder, manifest) in &crates {
        let versioned = versioned(manifest, &names);
        assert!(
            versioned.is_empty(),
            "{}: depend on {versioned:?} by a path without a version",
            folder.display()
        );
    }
}

/// The version that a manifest states. `None`: that of the workspace.
fn own_version(manifest: &str) -> Option<&str> {
    let mut package = section(manifest, "package").into_iter();
    package.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

#[test]
fn crates_of_hyper_delay_share_one_version_and_need_exactly_that() {
    let manifest = include_str!("../../Cargo.toml");
    let required = section(manifest, "workspace.dependencies");
    let server = include_str!("../../crates/hyper-delay/Cargo.toml");
    let server = own_version(server).expect("the server has a version of its own");
    for (folder, manifest) in published() {
        let name = folder.file_name().expect("it has a name").to_string_lossy();
        let is_of_server = name.starts_with("hyper-delay");
        let expected = is_of_server.then_some(server);
        assert_eq!(own_version(&manifest), expected, "{name}");
        let required = required
            .iter()
            .find_map(|line| line.strip_prefix(&format!("{name} = {{ version = \"")));
        let required = required.unwrap_or_else(|| panic!("the workspace does not name {name}"));
        let exact = format!("={server}\"");
        assert_eq!(
            required.starts_with(&exact),
            is_of_server,
            "{name}: {required}"
        );
    }
}

#[test]
fn what_a_manifest_lacks_is_named() {
    let manifest = "[package]\nname = \"a\"\ndescription = \"b\"\nversion.workspace = true\n\
                    edition.workspace = true\nrust-version = \"1.90\"\nlicense.workspace = true\n\
                    keywords = []\nreadme = \"README.md\"\n\n[features]\nx = []\n\n\
                    [dev-dependencies]\nrace = { workspace = true }\n\
                    race-core = { path = \"../race-core\", version = \"1\" }\n\
                    race-sim = { path = \"../race-sim\" }\ntokio = \"1\"\n";
    assert_eq!(
        missing(manifest),
        [
            "package.categories",
            "package.metadata.docs.rs.rustdoc-args",
            "package.metadata.docs.rs.targets",
            "package.metadata.docs.rs.features",
        ]
    );
    let crates = ["race", "race-core", "race-sim"].map(str::to_owned).into();
    assert_eq!(versioned(manifest, &crates), ["race", "race-core"]);
}
