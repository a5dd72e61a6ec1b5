use xxhash_rust::xxh3::xxh3_64;

use super::{CommitRecord, SpaceCommits};

const MAGIC: [u8; 8] = *b"HDCOMMIT";
/// The version of the whole data directory: of this record, the spaces, and their keys. Records
/// have versions of their own.
pub(super) const VERSION: u64 = 1;

/// Bytes of a slot that are used: magic, then numbers, then their checksum. Less than a sector,
/// which a disk writes whole or not at all.
pub(super) const LENGTH: usize = 8 * (1 + NUMBERS + 1);
/// Version, turn, three totals, two for each space.
const NUMBERS: usize = 5 + 2 * super::Space::ALL.len();

/// Encodes a record for a slot. `turn` grows with each write.
pub(super) fn encode(turn: u64, record: &CommitRecord) -> [u8; LENGTH] {
    let totals = [
        VERSION,
        turn,
        record.commit,
        record.schedules,
        record.removals,
    ];
    let spaces = record.spaces.iter();
    let spaces = spaces.flat_map(|space| [space.last, space.floor]);
    let mut slot = [0; LENGTH];
    let (words, _) = slot.as_chunks_mut::<8>();
    words[0] = MAGIC;
    for (word, number) in words[1..].iter_mut().zip(totals.into_iter().chain(spaces)) {
        *word = number.to_le_bytes();
    }
    let checksum = xxh3_64(&slot[..LENGTH - 8]);
    slot[LENGTH - 8..].copy_from_slice(&checksum.to_le_bytes());
    slot
}

/// Returns the version of a slot that a newer server wrote. The magic and the version are the first
/// fields of every version.
pub(super) fn newer_version(slot: &[u8]) -> Option<u64> {
    /// More versions than there will be; what is beyond is damage.
    const MAX_VERSION: u64 = 1_000;
    let (magic, rest) = slot.split_first_chunk()?;
    let (version, _) = rest.split_first_chunk()?;
    let version = u64::from_le_bytes(*version);
    let is_newer = *magic == MAGIC && (VERSION + 1..=MAX_VERSION).contains(&version);
    is_newer.then_some(version)
}

/// Decodes a slot: its turn and the record, or `None` if it is damaged or was never written.
pub(super) fn decode(slot: &[u8]) -> Option<(u64, CommitRecord)> {
    let slot: &[u8; LENGTH] = slot.first_chunk()?;
    let (content, checksum) = slot.split_last_chunk()?;
    let (magic, numbers) = content.split_first_chunk()?;
    if *magic != MAGIC || xxh3_64(content) != u64::from_le_bytes(*checksum) {
        return None;
    }
    let (numbers, _) = numbers.as_chunks::<8>();
    let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
    let mut next = || numbers.next();
    if next()? != VERSION {
        return None;
    }
    let turn = next()?;
    let mut record = CommitRecord {
        commit: next()?,
        schedules: next()?,
        removals: next()?,
        ..CommitRecord::default()
    };
    for space in &mut record.spaces {
        *space = SpaceCommits {
            last: next()?,
            floor: next()?,
        };
    }
    Some((turn, record))
}
