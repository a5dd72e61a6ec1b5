//! Programs from crates.io that tasks need, each in a pinned version.

use std::{env, fs, path::PathBuf};

use crate::step::{Outcome, Step};

/// A program of cargo's registry.
struct Tool {
    name: &'static str,
    version: String,
    /// Further arguments of `cargo install`.
    arguments: &'static str,
}

fn hack() -> Tool {
    Tool {
        name: "cargo-hack",
        version: "0.6.46".to_owned(),
        arguments: "--locked",
    }
}

fn deny() -> Tool {
    Tool {
        name: "cargo-deny",
        version: "0.20.2".to_owned(),
        arguments: "--locked",
    }
}

fn deb() -> Tool {
    Tool {
        name: "cargo-deb",
        version: "3.8.0".to_owned(),
        arguments: "--locked",
    }
}

/// Its version is that of the library, in the lock files of the packages that use it. Its own lock
/// file is for TLS, which only its default feature needs.
fn bindgen() -> Result<Tool, String> {
    const PACKAGES: [&str; 2] = ["tests/web", "examples/fetch"];
    let [version, other] = PACKAGES.map(locked_version);
    let version = version?;
    if other? != version {
        let [one, other] = PACKAGES;
        return Err(format!(
            "{one} and {other} have different versions of wasm-bindgen"
        ));
    }
    Ok(Tool {
        name: "wasm-bindgen-cli",
        version,
        arguments: "--no-default-features",
    })
}

/// Installs all of them.
pub(crate) fn install() -> Outcome {
    for tool in [hack(), deny(), deb(), bindgen()?] {
        tool.folder()?;
    }
    Ok(())
}

/// The folder with `cargo-hack`.
pub(crate) fn cargo_hack() -> Result<PathBuf, String> {
    hack().folder()
}

/// The folder with `cargo-deny`.
pub(crate) fn cargo_deny() -> Result<PathBuf, String> {
    deny().folder()
}

/// The folder with `cargo-deb`.
pub(crate) fn cargo_deb() -> Result<PathBuf, String> {
    deb().folder()
}

/// The folder with `wasm-bindgen` and `wasm-bindgen-test-runner`.
pub(crate) fn wasm_bindgen() -> Result<PathBuf, String> {
    bindgen()?.folder()
}

impl Tool {
    /// Returns the folder of the program, and installs it there if it is missing. The folder is
    /// that of the user's caches, so every clone uses the same one, and is named after the version.
    fn folder(&self) -> Result<PathBuf, String> {
        let Self {
            name,
            version,
            arguments,
        } = self;
        let root = cache()?.join(format!("{name}-{version}"));
        // `cargo install` makes the file when it begins and fills it when it ends, so an interrupted
        // one is repeated.
        let list = fs::metadata(root.join(".crates.toml"));
        if !list.is_ok_and(|list| list.len() > 0) {
            fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
            Step::cargo(&format!("install {name} --version {version} {arguments}"))
                .arg("--root")
                .arg(&root)
                .run()?;
        }
        Ok(root.join("bin"))
    }
}

fn cache() -> Result<PathBuf, String> {
    // The XDG Base Directory Specification says to ignore a relative path.
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.filter(|path| path.is_absolute());
    let home = || Some(env::home_dir()?.join(".cache"));
    let cache = cache.or_else(home);
    let cache = cache.ok_or("no folder for tools: set XDG_CACHE_HOME")?;
    if cache.to_string_lossy().contains(':') {
        let cache = cache.display();
        return Err(format!(
            "{cache} cannot be in PATH: set XDG_CACHE_HOME to a path without a colon"
        ));
    }
    Ok(cache.join("race-workspace"))
}

fn locked_version(package: &str) -> Result<String, String> {
    let path = format!("{package}/Cargo.lock");
    let lock = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let version = lock.split("name = \"wasm-bindgen\"\nversion = \"").nth(1);
    let version = version.and_then(|rest| rest.split('"').next());
    let version = version.ok_or_else(|| format!("{path} has no wasm-bindgen"))?;
    Ok(version.to_owned())
}
