//! The `hyper-delay` binary: the server and its tools.

use std::process::ExitCode;

/// jemalloc returns memory after compactions and bursts, from a background thread; the system
/// allocator keeps it.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    hyper_delay::command::run()
}
