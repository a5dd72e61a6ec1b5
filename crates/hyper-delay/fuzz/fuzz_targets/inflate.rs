//! Whatever a payload contains, decompression ends at its limit.

#![no_main]

use std::io::Read as _;

use hyper_delay::{internals::inflate, protocol::Compression};
use lz4_flex::frame::FrameDecoder;

/// The longest content.
const LIMIT: usize = 100_000;

libfuzzer_sys::fuzz_target!(|payload: &[u8]| {
    for limit in [LIMIT, 100, 0] {
        let lz4 = inflate(Compression::Lz4, payload, limit);
        if let Ok(content) = lz4 {
            assert!(content.len() <= limit);
            let mut other = Vec::new();
            let read = FrameDecoder::new(payload).read_to_end(&mut other);
            read.expect("another decoder reads it, too");
            assert!(content == other);
        }
        let zstd = inflate(Compression::Zstd, payload, limit);
        assert!(zstd.is_ok_and(|content| content.len() > limit) == false);
    }
});
