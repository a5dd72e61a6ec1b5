//! The server and its tools as a program.

mod command;

use std::process::ExitCode;

/// The allocator of the system keeps what compactions have used.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command::run()
}
