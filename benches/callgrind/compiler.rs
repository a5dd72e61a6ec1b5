//! The compiler of this executable, on which all counts depend.

use std::{env, error::Error, process::Command};

/// The version of rustc of all targets and recorded counts. Another one needs a new record.
pub(crate) const RUSTC: &str = "1.95.0";

/// Prints the version of rustc that compiled this executable, and whether its counts are judged.
/// Returns whether it is the recorded one.
pub(crate) fn print() -> Result<bool, Box<dyn Error>> {
    let version = version()?;
    let version = version.as_deref().unwrap_or("(unknown version)");
    println!("compiled with rustc {version}");
    let is_recorded = version.split(' ').next() == Some(RUSTC);
    if !is_recorded {
        println!("The counts are not judged: targets and record were measured with rustc {RUSTC}.");
    }
    Ok(is_recorded)
}

/// Returns the version that rustc left in the section `.comment`, such as `1.95.0 (59807616e
/// 2026-04-14)`. `rustc -V` may be a compiler other than the one of this executable.
fn version() -> Result<Option<String>, Box<dyn Error>> {
    let output = Command::new("readelf")
        .arg("--string-dump=.comment")
        .arg(env::current_exe()?)
        .output()
        .map_err(|error| {
            format!("cannot run readelf: {error}; install Debian's package `binutils`")
        })?;
    let dump = String::from_utf8_lossy(&output.stdout);
    let version = dump
        .lines()
        .find_map(|line| line.split_once("rustc version "));
    Ok(version.map(|(_, version)| version.trim().to_owned()))
}
