//! Parses one batch.

use xxhash_rust::xxh3::xxh3_64;

use super::{BatchDamage, JournalBatch, JournalItem};

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;

/// The last bytes of a batch.
const TRAILER: [u8; 4] = *b"FJL\x03";

/// The longest key. Keys of the store are a route and an id of at most 128 bytes each, or shorter.
const LONGEST_KEY: usize = 1 << 10;

/// The work for one item: about the time in which this many bytes are hashed.
const WORK_PER_ITEM: u64 = 32;

/// The reason why a position is not the start of a batch.
pub(super) enum ParseError {
    /// The bytes end before the batch does.
    End,
    /// The bytes are a batch up to this position, but not with its checksum.
    Checksum {
        /// The position after the batch.
        end: usize,
    },
    /// The bytes are not a batch.
    Damage(BatchDamage),
}

impl From<BatchDamage> for ParseError {
    fn from(reason: BatchDamage) -> Self {
        Self::Damage(reason)
    }
}

/// Reads the batch that begins at `at`. Adds the work that it takes to `work`.
pub(super) fn batch<'a>(
    bytes: &'a [u8],
    at: usize,
    work: &mut u64,
) -> Result<JournalBatch<'a>, ParseError> {
    *work += WORK_PER_ITEM;
    let mut cursor = BatchCursor { bytes, at };
    cursor.expect(START)?;
    let announced = u32::from_le_bytes(cursor.array()?);
    let seqno = u64::from_le_bytes(cursor.array()?);
    let body = cursor.at;
    let (mut items, mut clears) = (Vec::new(), Vec::new());
    let mut found = 0;
    loop {
        let end_of_body = cursor.at;
        match cursor.byte()? {
            ITEM => items.push(cursor.item()?),
            CLEAR => clears.push(u64::from_le_bytes(cursor.array()?)),
            END => {
                let checksum = u64::from_le_bytes(cursor.array()?);
                cursor.trailer()?;
                if found != announced {
                    return Err(BatchDamage::ItemCount { announced, found }.into());
                }
                *work += (end_of_body - body) as u64;
                if checksum != xxh3_64(&bytes[body..end_of_body]) {
                    return Err(ParseError::Checksum { end: cursor.at });
                }
                return Ok(JournalBatch {
                    range: at..cursor.at,
                    seqno,
                    items,
                    clears,
                });
            }
            found => return Err(BatchDamage::Tag { found }.into()),
        }
        *work += WORK_PER_ITEM;
        found += 1;
        if found > announced {
            return Err(BatchDamage::ItemCount { announced, found }.into());
        }
    }
}

/// Yields the positions from `from` on where a batch may begin.
pub(super) fn batch_starts(bytes: &[u8], from: usize) -> impl Iterator<Item = usize> {
    /// The length of a start.
    const LENGTH: usize = 13;
    let rest = bytes.get(from..).unwrap_or_default();
    memchr::memchr_iter(START, rest)
        .map(move |at| from + at)
        .filter(|at| matches!(bytes.get(at + LENGTH), Some(&(ITEM | CLEAR))))
}

struct BatchCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BatchCursor<'a> {
    fn item(&mut self) -> Result<JournalItem<'a>, ParseError> {
        const PUT: u8 = 0;
        const REMOVALS: [u8; 2] = [1, 2];
        let kind = self.byte()?;
        if kind != PUT && !REMOVALS.contains(&kind) {
            return Err(BatchDamage::Tag { found: kind }.into());
        }
        // The store is built without compression.
        self.expect(0)?;
        let keyspace = u64::from_le_bytes(self.array()?);
        let key = usize::from(u16::from_le_bytes(self.array()?));
        let value = u32::from_le_bytes(self.array()?);
        let stored = u32::from_le_bytes(self.array()?);
        if value != stored || key > LONGEST_KEY {
            return Err(BatchDamage::Checksum.into());
        }
        let key = self.take(key)?;
        let value = self.take(stored as usize)?;
        Ok(JournalItem {
            keyspace,
            key,
            value: (kind == PUT).then_some(value),
        })
    }

    fn trailer(&mut self) -> Result<(), ParseError> {
        match self.array()? {
            TRAILER => Ok(()),
            [found, ..] => Err(BatchDamage::Tag { found }.into()),
        }
    }

    fn expect(&mut self, tag: u8) -> Result<(), ParseError> {
        match self.byte()? {
            found if found == tag => Ok(()),
            found => Err(BatchDamage::Tag { found }.into()),
        }
    }

    fn byte(&mut self) -> Result<u8, ParseError> {
        self.array().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let taken = self.take(N)?.first_chunk();
        Ok(*taken.expect("`take` returns N bytes"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ParseError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..length).ok_or(ParseError::End)?;
        self.at += length;
        Ok(taken)
    }
}
