//! Decodes the blocks of a table file.
//!
//! A block is a header and its data. Integers are little-endian; `int` is a number in LEB128.
//!
//! ```text
//! header  = "LSM", 3, type: u8 (0 data), checksum of the data: u128 (XXH3), length: u32,
//!           length without compression: u32, low half of XXH3 over the header so far: u32
//! data    = items, 255, indexes, trailer
//! item    = kind: u8 (0 put, 1 removal, 2 weak removal), seqno: int, key,
//!           and for a put: length: int, value
//! key     = length: int, bytes                      in the first item of each interval
//!         | shared length: int, length: int, rest   in the others; shared with that first key
//! trailer = interval: u8, 26 bytes, item count: u32
//! ```

use xxhash_rust::xxh3::xxh3_128;

use super::row::RowVersion;

pub(super) const MAGIC: [u8; 4] = *b"LSM\x03";

const TRAILER: usize = 31;

/// The limit for the sum of all keys of a block, which share bytes. A block of the store has about
/// 8 KiB and one long value.
const KEYS: usize = 4 << 20;

/// The checked header of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockHeader {
    pub(super) is_data: bool,
    pub(super) length: u32,
    is_compressed: bool,
    checksum: u128,
}

impl BlockHeader {
    pub(super) const LENGTH: usize = 33;

    /// Reads a header whose checksum is correct.
    pub(super) fn read(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let (fields, sum) = bytes.split_last_chunk::<4>()?;
        if fields[..4] != MAGIC || low_half(xxh3_128(fields)) != u32::from_le_bytes(*sum) {
            return None;
        }
        let number = |at: usize| fields[at..at + 4].try_into().map(u32::from_le_bytes);
        let (length, whole) = (number(21).ok()?, number(25).ok()?);
        Some(Self {
            is_data: fields[4] == 0,
            length,
            is_compressed: length != whole,
            checksum: u128::from_le_bytes(fields[5..21].try_into().ok()?),
        })
    }

    /// Returns where this block ends if it begins at `at`.
    pub(super) const fn end(&self, at: u64) -> u64 {
        at.saturating_add(Self::LENGTH as u64 + self.length as u64)
    }

    /// Checks the data of this block.
    pub(super) fn check(&self, data: &[u8]) -> Result<(), &'static str> {
        if xxh3_128(data) != self.checksum {
            return Err("the checksum does not match");
        }
        if self.is_compressed {
            return Err("it is compressed, and this version reads no compressed blocks");
        }
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
const fn low_half(sum: u128) -> u32 {
    sum as u32
}

/// Decodes the rows of a data block. `None` if the block is malformed.
pub(super) fn rows(data: &[u8], shift: u64) -> Option<Vec<RowVersion>> {
    let trailer = data.len().checked_sub(TRAILER)?;
    let interval = usize::from(data[trailer]);
    let count = u32::from_le_bytes(*data.last_chunk()?);
    let mut reader = BlockCursor(&data[..trailer]);
    let mut rows = Vec::new();
    let mut base: Vec<u8> = Vec::new();
    let mut left = KEYS;
    for place in 0..usize::try_from(count).ok()? {
        let kind = reader.byte()?;
        let seqno = reader.int()?;
        let key = if place % interval.max(1) == 0 {
            let length = reader.int()?;
            base = reader.take(length)?.to_vec();
            base.clone()
        } else {
            let (shared, length) = (reader.int()?, reader.int()?);
            let shared = base.get(..usize::try_from(shared).ok()?)?;
            left = left.checked_sub(shared.len())?;
            [shared, reader.take(length)?].concat()
        };
        let value = match kind {
            0 => {
                let length = reader.int()?;
                Some(reader.take(length)?.to_vec())
            }
            1 | 2 => None,
            _ => return None,
        };
        rows.push(RowVersion {
            key,
            seqno: seqno.checked_add(shift)?,
            value,
        });
    }
    Some(rows)
}

struct BlockCursor<'a>(&'a [u8]);

impl<'a> BlockCursor<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn int(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with one long key and `more` keys that share all of it.
    fn block(more: u32) -> Vec<u8> {
        const LENGTH: [u8; 2] = [0x80, 0x40];
        let first = [&[1, 1], &LENGTH[..], &[7; 8 << 10]].concat();
        let rest = [&[1, 1], &LENGTH[..], &[0]].concat();
        let mut trailer = [0; TRAILER];
        trailer[0] = 255;
        trailer[27..].copy_from_slice(&(more + 1).to_le_bytes());
        [&first[..], &rest.repeat(more as usize), &trailer].concat()
    }

    #[test]
    fn keys_that_share_too_many_bytes_are_malformed() {
        assert_eq!(rows(&block(100), 0).unwrap().len(), 101);
        assert_eq!(rows(&block(1_000), 0), None);
    }
}
