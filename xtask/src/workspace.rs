//! The packages of the workspace, by their manifests.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use crate::step::{Outcome, Step};

const MANIFEST: &str = "Cargo.toml";

/// The `rust-version` of the workspace, for example `1.85`.
pub(crate) fn rust_version() -> Result<String, String> {
    let manifest = read(Path::new(MANIFEST))?;
    let version = value(&manifest, "rust-version").ok_or("Cargo.toml has no rust-version")?;
    Ok(version.to_owned())
}

/// The version of a published crate: its own one, which the crates of hyper-delay share, or that of
/// the workspace, which those of race share.
pub(crate) fn version(name: &str) -> Result<String, String> {
    let own = read(&Path::new("crates").join(name).join(MANIFEST))?;
    let shared = read(Path::new(MANIFEST))?;
    let version = value(&own, "version").or_else(|| value(&shared, "version"));
    Ok(version.ok_or("Cargo.toml has no version")?.to_owned())
}

/// The names of the published crates, in order.
pub(crate) fn published() -> Result<Vec<String>, String> {
    crates_that(|manifest| !manifest.lines().any(|line| line == "publish = false"))
}

/// The published libraries that keep the `rust-version` of the workspace, in order of name.
pub(crate) fn libraries() -> Result<Vec<String>, String> {
    crates_that(|manifest| {
        let has = |wanted: &str| manifest.lines().any(|line| line == wanted);
        has("rust-version.workspace = true") && !has("publish = false")
    })
}

/// The names of the packages in `crates` whose manifest `is_meant`, in order.
fn crates_that(is_meant: impl Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for folder in folders(Path::new("crates"))? {
        let manifest = read(&folder.join(MANIFEST))?;
        if is_meant(&manifest) {
            let name = value(&manifest, "name");
            let name = name.ok_or_else(|| format!("{} has no package name", folder.display()))?;
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// The folders of the packages outside the workspace.
pub(crate) fn excluded() -> Result<Vec<String>, String> {
    let manifest = read(Path::new(MANIFEST))?;
    let list = manifest.split("\nexclude = [").nth(1);
    let list = list.and_then(|rest| rest.split(']').next());
    let list = list.ok_or("Cargo.toml excludes nothing")?;
    Ok(list
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect())
}

/// `-p` and the name of each library.
pub(crate) fn libraries_selected() -> Result<String, String> {
    let names = libraries()?;
    Ok(names.iter().map(|name| format!("-p {name} ")).collect())
}

/// Selects the crates that the server is made of, as `-p name -p name`.
pub(crate) fn server_selected() -> Result<String, String> {
    let names = crates_that(|_| true)?;
    let names = names.iter().filter(|name| is_of_server(name));
    let names: Vec<String> = names.map(|name| format!("-p {name}")).collect();
    Ok(names.join(" "))
}

/// Whether the server is made of this crate. The clients of hyper-delay and of etcd are not parts of
/// it.
pub(crate) fn is_of_server(name: &str) -> bool {
    let is_client = ["hyper-delay-client", "hyper-delay-etcd"].contains(&name);
    name.starts_with("hyper-delay") && !is_client
}

/// The client's `zstd`. It compiles C with a parallel `cc`, and what `cc` can holds for a whole build:
/// beside it, ring and jemalloc would be compiled a second time. So it is checked alone.
const APART: [(&str, &str); 1] = [("hyper-delay-client", "zstd")];

/// Selects the client with what is `APART` of the rest.
pub(crate) const CLIENT_APART: &str = "-p hyper-delay-client --features lz4,zstd";

/// Selects the workspace with all features but `CLIENT_APART`.
pub(crate) fn all_features() -> Result<String, String> {
    let features = features_except(&crates_that(|_| true)?, &APART)?;
    Ok(format!("--workspace --features {features}"))
}

/// The features of these packages in `crates` without some, for `--features`.
pub(crate) fn features_except(
    packages: &[String],
    except: &[(&str, &str)],
) -> Result<String, String> {
    let mut features = Vec::new();
    for package in packages {
        let manifest = read(&Path::new("crates").join(package).join(MANIFEST))?;
        let of_package = features_in(&manifest).into_keys();
        let kept = of_package.filter(|it| !except.contains(&(&**package, &**it)));
        features.extend(kept.map(|feature| format!("{package}/{feature}")));
    }
    Ok(features.join(","))
}

/// The features of a manifest, and what each turns on.
pub(crate) fn features_in(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let section = manifest.split("\n[features]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let lists = section
        .split(']')
        .filter_map(|list| list.split_once(" = ["));
    let name = |before: &str| before.lines().last().unwrap_or_default().trim().to_owned();
    let quoted = |list: &str| {
        let parts = list.split('"').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    lists
        .map(|(before, list)| (name(before), quoted(list)))
        .collect()
}

/// The folders in a folder, sorted.
pub(crate) fn folders(path: &Path) -> Result<Vec<PathBuf>, String> {
    let mut folders = entries(path)?;
    folders.retain(|entry| entry.is_dir());
    Ok(folders)
}

/// The entries of a folder, sorted.
pub(crate) fn entries(path: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut entries: Vec<_> = listing.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    Ok(entries)
}

/// Builds everything of the workspace as `cargo test --workspace` does: its programs are then in the
/// target directory, and what has been built once serves all tasks.
pub(crate) fn build_tests() -> Outcome {
    Step::cargo("test --locked --workspace --no-run").run()
}

/// `cargo` for a package outside the workspace, with the target directory of the workspace, which has
/// most of its dependencies.
pub(crate) fn cargo_outside(arguments: &str) -> Result<Step, String> {
    Ok(Step::cargo(arguments).env("CARGO_TARGET_DIR", target()?))
}

/// The target of the compiler that runs here.
pub(crate) fn host() -> Result<String, String> {
    let version = Step::new("rustc -vV").output().unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// The target directory: this program is in `target/debug`.
pub(crate) fn target() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let target = program.ancestors().nth(2);
    let target =
        target.ok_or_else(|| format!("{} is in no target directory", program.display()))?;
    Ok(target.to_owned())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The string after `key = ` on a line of its own.
fn value<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    manifest.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?.trim_start();
        rest.strip_prefix('=')?
            .trim()
            .strip_prefix('"')?
            .strip_suffix('"')
    })
}
