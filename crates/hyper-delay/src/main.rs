//! The server and its tools as a program.

mod command;

use std::process::ExitCode;

/// The allocator of the system keeps what compactions and bursts have used; this one gives it back, from a thread of its
/// own.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    command::run()
}
