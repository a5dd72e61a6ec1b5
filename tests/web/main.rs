//! `race-web` where it runs: in Node, in a page and in a worker.
//!
//! The tests use the real glue to JavaScript. `simulated` replaces the clock and the timeouts of
//! the global scope; the others wait for real.

#![cfg(target_family = "wasm")]

mod facade;
mod global_scope;
mod simulated;
mod suite;

/// The runner calls the tests by their names.
fn main() {}
