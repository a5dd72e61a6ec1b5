use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use hyper_delay_store::Space;

/// The first bytes of a backup.
pub(super) const MAGIC: [u8; 8] = *b"HDBACKUP";

/// The version of the format that this server writes, and the highest that it reads.
pub(super) const VERSION: u32 = 1;

/// Bytes of the magic and the version.
pub(super) const START: usize = 12;

/// Bytes before the content of a frame: its kind and its length.
pub(super) const FRAME_HEAD: usize = 5;

/// Bytes of a checksum.
pub(super) const CHECKSUM: usize = 8;

/// The longest content of a frame that is read. The longest row is that of a task whose line has 16
/// MiB.
pub(super) const MAX_CONTENT: usize = 32 << 20;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameKind {
    Header = b'h',
    Rows = b'r',
    End = b'e',
}

impl FrameKind {
    pub(super) fn of(byte: u8) -> Option<Self> {
        [Self::Header, Self::Rows, Self::End]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The header of a backup: its time, its server and its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHeader {
    /// When it was begun, in Unix milliseconds.
    pub made_at: u64,
    /// The version of the server that made it.
    pub server: String,
    /// The number of the last commit in it.
    pub commit: u64,
    /// The version of the records in it.
    pub records: u8,
}

/// The content of the end frame.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct EndFrame {
    /// The number of rows of each space.
    pub(super) rows: [u64; Space::ALL.len()],
}

/// Returns the magic and the version.
pub(super) fn start() -> [u8; START] {
    let mut start = [0; START];
    start[..8].copy_from_slice(&MAGIC);
    start[8..].copy_from_slice(&VERSION.to_le_bytes());
    start
}

/// Returns the checksum of bytes that follow those with the checksum `before`.
pub(super) fn checksum(bytes: &[u8], before: u64) -> u64 {
    xxh3_64_with_seed(bytes, before)
}
