//! One frame of Zstandard.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::FrameError;

/// Decompresses a frame to at most `limit` bytes.
pub(super) fn inflate(payload: &[u8], limit: usize) -> Result<Vec<u8>, FrameError> {
    let mut input = payload;
    let mut decoder = FrameDecoder::new();
    // Allocates nothing for the window that the header claims.
    decoder
        .init(&mut input)
        .map_err(|_| FrameError::invalid("its header is not valid, or needs a dictionary"))?;
    // Ends after the block that exceeds the limit. A block has at most 128 KiB.
    let beyond = BlockDecodingStrategy::UptoBytes(limit.saturating_add(1));
    let is_whole = decoder
        .decode_blocks(&mut input, beyond)
        .map_err(|_| FrameError::invalid("a block is not valid, or cut short"))?;
    if !is_whole || decoder.can_collect() > limit {
        return Err(FrameError::TooLong);
    }
    let content = decoder.collect().unwrap_or_default();
    let checksum = decoder.get_checksum_from_data();
    if checksum.is_some() && checksum != decoder.get_calculated_checksum() {
        return Err(FrameError::invalid("its checksum is wrong"));
    }
    // 0 if the header has none.
    let length = decoder.content_size();
    if length != 0 && length != content.len() as u64 {
        return Err(FrameError::invalid("its length is not that in the header"));
    }
    match input {
        [] => Ok(content),
        _ => Err(FrameError::invalid("bytes follow the frame")),
    }
}
