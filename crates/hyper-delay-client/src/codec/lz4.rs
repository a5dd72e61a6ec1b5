//! One frame of LZ4.

use std::io::{Read as _, Write as _};

use lz4_flex::frame::{BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::Fault;

/// The end of a frame: a block of length 0.
const END: &[u8] = &[0; 4];

pub(super) fn compress(payload: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new()
        .block_size(BlockSize::Auto)
        .content_size(Some(payload.len() as u64))
        .content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(payload).expect("it is written to memory");
    encoder.finish().expect("it is written to memory")
}

pub(super) fn decompress(payload: &[u8], limit: usize) -> Result<Vec<u8>, Fault> {
    // The decoder takes the end of its input for the end of the frame. With one more end after the
    // frame, exactly that one is left.
    let mut decoder = FrameDecoder::new(payload.chain(END));
    let mut content = Vec::new();
    let longest = (limit as u64).saturating_add(1);
    let read = (&mut decoder).take(longest).read_to_end(&mut content);
    read.map_err(Fault::invalid)?;
    if content.len() > limit {
        return Err(Fault::TooLong);
    }
    match decoder.into_inner().into_inner() {
        ([], END) => Ok(content),
        ([], _) => Err(Fault::invalid("it is cut short")),
        _ => Err(Fault::invalid("bytes follow the frame")),
    }
}
