//! The `mirrors` example as its users meet it: a process, and mirrors that speak bytes.

#[cfg(unix)] // it takes a named pipe
mod closes;
mod fails;
mod input;
// The pacing, for its own tests.
#[path = "../../examples/mirrors/paced.rs"]
mod paced;
mod server;
mod wins;

use testkit::Ended;

const RUNTIMES: [&str; 4] = ["tokio", "async-io", "smol", "thread"];

/// The line of the picture that begins like this.
fn line<'a>(ended: &'a Ended, place: &str) -> &'a str {
    let mut lines = ended.stdout.lines();
    lines
        .find(|line| line.starts_with(place))
        .unwrap_or_else(|| panic!("no {place} in {}{}", ended.stdout, ended.stderr))
}
