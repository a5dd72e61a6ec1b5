//! Whatever a file of tokens has, it is read as a whole or refused.

#![no_main]

#[path = "../../tests/token_file/mod.rs"]
mod token_file;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    token_file::check(bytes);
});
