//! Whatever a client sends is split into lines, each read or refused.

#![no_main]

#[path = "../../tests/wire/mod.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::check(bytes));
