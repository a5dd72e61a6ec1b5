//! One frame of LZ4.
//!
//! The frame is read here and its blocks are decompressed by `lz4_flex`, whose reader of frames
//! allocates what the header claims: 12 MiB for a frame of a few bytes.

use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};
use xxhash_rust::xxh32::xxh32;

use super::FrameError;

const MAGIC: u32 = 0x184D_2204;

/// A block refers to at most this many bytes before it.
const WINDOW: usize = 64 << 10;

/// A block of n bytes decompresses to less than this many times n.
const MOST: usize = 256;

/// Set in the length of a block that is not compressed.
const STORED: u32 = 1 << 31;

/// Decompresses a frame to at most `limit` bytes.
pub(super) fn inflate(payload: &[u8], limit: usize) -> Result<Vec<u8>, FrameError> {
    let mut input = FrameInput(payload);
    let header = FrameHeader::read(&mut input)?;
    let mut output = FrameOutput::new(limit);
    loop {
        let length = input.number()?;
        if length == 0 {
            break;
        }
        let is_stored = length & STORED != 0;
        let length = (length & !STORED) as usize;
        if length > header.max_block {
            return Err(FrameError::invalid(
                "a block is longer than the header allows",
            ));
        }
        let block = input.take(length)?;
        if header.has_block_checksums {
            check(block, input.number()?)?;
        }
        match is_stored {
            true => output.copy(block)?,
            false => output.decompress(block, &header)?,
        }
    }
    let content = output.finish();
    if header.has_checksum {
        check(&content, input.number()?)?;
    }
    if header
        .length
        .is_some_and(|length| length != content.len() as u64)
    {
        return Err(FrameError::invalid("its length is not that in the header"));
    }
    match input.0 {
        [] => Ok(content),
        _ => Err(FrameError::invalid("bytes follow the frame")),
    }
}

fn check(bytes: &[u8], checksum: u32) -> Result<(), FrameError> {
    match xxh32(bytes, 0) == checksum {
        true => Ok(()),
        false => Err(FrameError::invalid("a checksum is wrong")),
    }
}

/// The unread rest of a frame.
struct FrameInput<'a>(&'a [u8]);

impl<'a> FrameInput<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], FrameError> {
        let split = self.0.split_at_checked(length);
        let (taken, left) = split.ok_or_else(|| FrameError::invalid("it is cut short"))?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many bytes were taken"))
    }

    fn number(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.array()?))
    }
}

struct FrameHeader {
    /// Whether blocks refer to those before them.
    is_linked: bool,
    has_block_checksums: bool,
    has_checksum: bool,
    length: Option<u64>,
    max_block: usize,
}

impl FrameHeader {
    fn read(input: &mut FrameInput<'_>) -> Result<Self, FrameError> {
        if input.number()? != MAGIC {
            return Err(FrameError::invalid("it does not begin as one"));
        }
        let descriptor = input.0;
        let [flags, block] = input.array()?;
        let has = |bit: u8| flags & 1 << bit != 0;
        if flags >> 6 != 1 || has(1) || block & 0b1000_1111 != 0 {
            return Err(FrameError::invalid("it has another version"));
        }
        if has(0) {
            return Err(FrameError::invalid("it needs a dictionary"));
        }
        let max_block = match block >> 4 {
            size @ 4..=7 => 1 << (2 * size + 8),
            _ => return Err(FrameError::invalid("its block size does not exist")),
        };
        let length = match has(3) {
            true => Some(u64::from_le_bytes(input.array()?)),
            false => None,
        };
        let descriptor = &descriptor[..descriptor.len() - input.0.len()];
        let [checksum] = input.array()?;
        if xxh32(descriptor, 0).to_le_bytes()[1] != checksum {
            return Err(FrameError::invalid("the checksum of its header is wrong"));
        }
        Ok(Self {
            is_linked: !has(5),
            has_block_checksums: has(4),
            has_checksum: has(2),
            length,
            max_block,
        })
    }
}

/// The decompressed bytes.
struct FrameOutput {
    /// Only grows, so that no byte is cleared twice.
    bytes: Vec<u8>,
    length: usize,
    limit: usize,
}

impl FrameOutput {
    const fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            length: 0,
            limit,
        }
    }

    fn copy(&mut self, block: &[u8]) -> Result<(), FrameError> {
        let length = self.length + block.len();
        if length > self.limit {
            return Err(FrameError::TooLong);
        }
        self.grow(length);
        self.bytes[self.length..length].copy_from_slice(block);
        self.length = length;
        Ok(())
    }

    fn decompress(&mut self, block: &[u8], header: &FrameHeader) -> Result<(), FrameError> {
        let left = self.limit - self.length;
        let room = header.max_block.min(block.len() * MOST);
        self.grow(self.length + room.min(left));
        let (before, rest) = self.bytes.split_at_mut(self.length);
        let rest = &mut rest[..room.min(left)];
        let written = match header.is_linked {
            true => {
                let window = &before[before.len().saturating_sub(WINDOW)..];
                decompress_into_with_dict(block, rest, window)
            }
            false => decompress_into(block, rest),
        };
        self.length += written.map_err(|error| match error {
            DecompressError::OutputTooSmall { .. } if left < room => FrameError::TooLong,
            _ => FrameError::invalid("a block is not valid"),
        })?;
        Ok(())
    }

    fn grow(&mut self, length: usize) {
        if length > self.bytes.len() {
            self.bytes.resize(length, 0);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.length);
        self.bytes
    }
}
