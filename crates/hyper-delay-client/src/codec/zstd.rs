//! One frame of Zstandard.

use std::io::Read as _;

use zstd::stream::read::Decoder;

use super::Fault;

const LEVEL: i32 = 3;

/// The window that every decoder should have, by RFC 8878: 8 MiB.
const WINDOW: u32 = 23;

pub(super) fn compress(payload: &[u8]) -> Vec<u8> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).expect("the level exists");
    let checksum = compressor.include_checksum(true);
    checksum.expect("the parameter exists");
    let compressed = compressor.compress(payload);
    compressed.expect("the buffer has the size that the library names")
}

pub(super) fn decompress(payload: &[u8], limit: usize) -> Result<Vec<u8>, Fault> {
    let mut decoder = Decoder::with_buffer(payload)
        .map_err(Fault::invalid)?
        .single_frame();
    // A frame whose content is in one segment has a window of that length.
    let longest = limit.checked_next_power_of_two().unwrap_or(usize::MAX);
    let window = longest.ilog2().clamp(WINDOW, 30);
    decoder.window_log_max(window).map_err(Fault::invalid)?;
    let mut content = Vec::new();
    let most = (limit as u64).saturating_add(1);
    let read = (&mut decoder).take(most).read_to_end(&mut content);
    read.map_err(Fault::invalid)?;
    if content.len() > limit {
        return Err(Fault::TooLong);
    }
    match decoder.finish() {
        [] if !payload.is_empty() => Ok(content),
        [] => Err(Fault::invalid("it is cut short")),
        _ => Err(Fault::invalid("bytes follow the frame")),
    }
}
