//! Races on embassy's executor, whose attempts await `embassy_time::Timer`.
//!
//! Exits with 0 if each race has the expected result. The argument `own-wakers` runs the race that
//! panics on the default queue.

mod executor;
mod races;

use std::{
    env,
    process::{Command, ExitCode, Output},
};

const OWN_WAKERS: &str = "own-wakers";

fn main() -> ExitCode {
    if env::args().any(|argument| argument == OWN_WAKERS) {
        executor::run(races::with_own_wakers());
        return ExitCode::SUCCESS;
    }
    executor::run(async {
        races::inline().await;
        races::on_the_heap().await;
    });
    match own_wakers() {
        Ok(()) => ExitCode::SUCCESS,
        Err(output) => {
            eprintln!("a race with its own wakers: {output:#?}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the race with its own wakers in a process of its own, because a panic in the time driver
/// leaves it unusable.
fn own_wakers() -> Result<(), Output> {
    let program = env::current_exe().expect("the program has a path");
    let child = Command::new(program).arg(OWN_WAKERS).output();
    let child = child.expect("the program can be executed");
    let message = "Found waker not created by the Embassy executor.";
    let panicked = String::from_utf8_lossy(&child.stderr).contains(message);
    let as_documented = match cfg!(feature = "generic") {
        true => child.status.success(),
        false => !child.status.success() && panicked,
    };
    if as_documented { Ok(()) } else { Err(child) }
}
