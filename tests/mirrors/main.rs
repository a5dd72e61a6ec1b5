//! The `mirrors` example as a process, with mirrors that send raw bytes.

#[cfg(unix)] // needs a named pipe
mod closes;
mod fails;
mod input;
// Included for its unit tests.
#[path = "../../examples/mirrors/paced.rs"]
mod paced;
mod server;
mod wins;

use testkit::Ended;

const RUNTIMES: [&str; 4] = ["tokio", "async-io", "smol", "thread"];

/// The line of the staircase with this index.
fn line<'a>(ended: &'a Ended, index: &str) -> &'a str {
    let mut lines = ended.stdout.lines();
    lines
        .find(|line| line.starts_with(index))
        .unwrap_or_else(|| panic!("no {index} in {}{}", ended.stdout, ended.stderr))
}
