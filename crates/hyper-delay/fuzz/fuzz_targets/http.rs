//! Whatever a query and a body have, a request over HTTP is refused or is what its path says.

#![no_main]

#[path = "../../tests/http_request/mod.rs"]
mod http_request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    http_request::check(bytes);
});
