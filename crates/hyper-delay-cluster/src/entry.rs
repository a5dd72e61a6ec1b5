//! An entry of a journal.
//!
//! ```text
//! version: u8 (1 or 2), length of the header: u8, header (postcard),
//! length of the body: u32, body (an LZ4 block),
//! checksum: u64 (XXH3 over all of the above)
//! ```
//!
//! All integers outside of the header are little-endian. The body is a row for each key, in the
//! order of spaces and keys:
//!
//! ```text
//! space: u8, kind: u8 (0 put, 1 removal), length of the key: u16, key,
//! and after a put: length of the value: u32, value
//! ```
//!
//! An entry has version 2 if a record in it has version 3. A server of version 0.3 reads entries of
//! version 1 only, so it stops before such a record rather than when it leads.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::ShardId;
use hyper_delay_store::{Batch, Space, record};

/// The version of entries whose records all have version 1 or 2.
const PLAIN: u8 = 1;

/// The newest version of entries that this server reads and writes.
const VERSION: u8 = 2;

/// The longest body that is decompressed. A group ends far below it, and no line of a client is
/// longer than 1 MiB in a cluster.
const LONGEST_BODY: usize = 64 << 20;

const CHECKSUM: usize = size_of::<u64>();

/// The hash of an entry, which the next one contains.
pub(crate) type EntryHash = u128;

/// The header of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryHeader {
    /// The cluster.
    pub cluster: u128,
    /// The shard of the journal.
    pub shard: ShardId,
    /// The place in the journal, from 0.
    pub seq: u64,
    /// The fence of the leader that wrote it.
    pub epoch: u64,
    /// Tells entries apart that are otherwise equal.
    pub nonce: u64,
    /// The hash of the entry before it.
    pub previous: EntryHash,
    /// Bytes of all entries before it.
    pub offset: u64,
    /// The time of the ledger in Unix milliseconds; never lower than in the entry before it.
    pub now: u64,
    /// Revisions that were scheduled and removed.
    pub counted: (u64, u64),
    /// This space is emptied before anything is written.
    pub clears: Option<u8>,
}

/// The changes of an entry.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each entry, and moved a few times"
)]
#[derive(Debug)]
pub(crate) enum EntryChange {
    /// Keys are put and removed.
    Writes(Batch),
    /// A space is emptied.
    Clear(Space),
}

/// An entry that can be read by no server, or only by another one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadEntry {
    /// Its bytes are not those that were written.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// A newer server wrote it.
    #[error("its version is {0}, and this server reads {VERSION}: upgrade this node")]
    Newer(u8),
}

/// An encoded entry, and what the next one needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodedEntry {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: EntryHash,
}

impl EntryChange {
    /// Encodes the change with a header, whose fields `counted` and `clears` are set.
    pub(crate) fn encode(&mut self, header: EntryHeader) -> EncodedEntry {
        let mut body = Vec::new();
        let mut version = PLAIN;
        let header = match self {
            Self::Writes(batch) => {
                body.reserve(batch.bytes());
                for (space, key, value) in batch.last_writes() {
                    if value.is_some_and(record::needs_version_3) {
                        version = VERSION;
                    }
                    append(&mut body, space, key, value);
                }
                EntryHeader {
                    counted: batch.counted(),
                    clears: None,
                    ..header
                }
            }
            Self::Clear(space) => EntryHeader {
                counted: (0, 0),
                clears: Some(*space as u8),
                ..header
            },
        };
        let header = postcard::to_allocvec(&header).expect("a vector takes every header");
        let compressed = lz4_flex::block::compress(&body);
        let mut bytes = Vec::with_capacity(header.len() + compressed.len() + 16);
        bytes.push(version);
        bytes.push(u8::try_from(header.len()).expect("a header has at most 255 bytes"));
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&length(&body).to_le_bytes());
        bytes.extend_from_slice(&compressed);
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        let hash = hash(&bytes);
        EncodedEntry { bytes, hash }
    }
}

/// Returns the hash of an encoded entry.
pub(crate) fn hash(entry: &[u8]) -> EntryHash {
    xxh3_128(entry)
}

/// Reads an entry.
///
/// # Errors
///
/// If its bytes are not those of an entry that this server knows.
pub(crate) fn decode(entry: &[u8]) -> Result<(EntryHeader, EntryChange), BadEntry> {
    let (header, body) = parts(entry)?;
    let change = match header.clears {
        Some(space) => EntryChange::Clear(space_of(space)?),
        None => EntryChange::Writes(batch_of(&header, body)?),
    };
    Ok((header, change))
}

/// Reads only the header.
///
/// # Errors
///
/// As [`decode`].
pub(crate) fn header(entry: &[u8]) -> Result<EntryHeader, BadEntry> {
    parts(entry).map(|(header, _)| header)
}

fn parts(entry: &[u8]) -> Result<(EntryHeader, &[u8]), BadEntry> {
    use BadEntry::{Damaged, Newer};
    match entry.first() {
        None => return Err(Damaged("it is empty")),
        Some(&(PLAIN | VERSION)) => {}
        Some(0) => return Err(Damaged("its version 0 does not exist")),
        Some(&newer) => return Err(Newer(newer)),
    }
    let (sealed, checksum) = entry
        .split_last_chunk::<CHECKSUM>()
        .ok_or(Damaged("it is cut"))?;
    if xxh3_64(sealed) != u64::from_le_bytes(*checksum) {
        return Err(Damaged("its checksum does not match"));
    }
    let rest = sealed.get(1..).unwrap_or_default();
    let (length, rest) = rest.split_first().ok_or(Damaged("it is cut"))?;
    let (header, body) = rest
        .split_at_checked(usize::from(*length))
        .ok_or(Damaged("it is cut"))?;
    let header = postcard::from_bytes(header).map_err(|_| Damaged("its header is malformed"))?;
    Ok((header, body))
}

fn batch_of(header: &EntryHeader, body: &[u8]) -> Result<Batch, BadEntry> {
    use BadEntry::Damaged;
    let (length, compressed) = body.split_first_chunk().ok_or(Damaged("it is cut"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > LONGEST_BODY {
        return Err(Damaged("its body is too long"));
    }
    let body = lz4_flex::block::decompress(compressed, length)
        .map_err(|_| Damaged("its body cannot be decompressed"))?;
    let mut rest = BodyReader(&body);
    let mut batch = Batch::new();
    batch.count(header.counted);
    while !rest.0.is_empty() {
        let [space, kind] = rest.take()?;
        let space = space_of(space)?;
        let length = u16::from_le_bytes(rest.take()?);
        let key = rest.bytes(usize::from(length))?;
        match kind {
            PUT => {
                let length = u32::from_le_bytes(rest.take()?);
                batch.put(space, key, rest.bytes(length as usize)?);
            }
            REMOVAL => batch.remove(space, key),
            _ => return Err(Damaged("a row is of no known kind")),
        }
    }
    Ok(batch)
}

const PUT: u8 = 0;
const REMOVAL: u8 = 1;

fn append(body: &mut Vec<u8>, space: Space, key: &[u8], value: Option<&[u8]>) {
    let kind = if value.is_some() { PUT } else { REMOVAL };
    body.extend_from_slice(&[space as u8, kind]);
    let length_of_key = u16::try_from(key.len()).expect("keys have at most a few hundred bytes");
    body.extend_from_slice(&length_of_key.to_le_bytes());
    body.extend_from_slice(key);
    if let Some(value) = value {
        body.extend_from_slice(&length(value).to_le_bytes());
        body.extend_from_slice(value);
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a group ends long before 4 GiB")
}

fn space_of(space: u8) -> Result<Space, BadEntry> {
    let space = Space::ALL.get(usize::from(space)).copied();
    space.ok_or(BadEntry::Damaged("it names a space that does not exist"))
}

/// Reads a body: its bytes that are left.
struct BodyReader<'a>(&'a [u8]);

impl<'a> BodyReader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadEntry> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or(BadEntry::Damaged("its body is cut"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], BadEntry> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(BadEntry::Damaged("its body is cut"))?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
