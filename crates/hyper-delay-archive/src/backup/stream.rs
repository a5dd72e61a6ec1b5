use std::{
    fmt,
    iter::{Fuse, Peekable},
    mem,
};

use serde::Serialize;

use super::format::{self, BackupHeader, CHECKSUM, EndFrame, FRAME_HEAD, FrameKind};
use hyper_delay_store::{Snapshot, Space, SpaceRow, StoreError, record};

/// A frame of rows ends after this many bytes.
const MIN_FRAME_BYTES: usize = 64 << 10;

type SnapshotRows = Peekable<Fuse<Box<dyn Iterator<Item = Result<SpaceRow, StoreError>> + Send>>>;

/// Writes a snapshot as a backup, piece by piece.
pub struct BackupStream {
    rows: SnapshotRows,
    /// Bytes that are not taken yet, from `taken` on.
    bytes: Vec<u8>,
    taken: usize,
    /// Bytes taken so far.
    offset: u64,
    /// The checksum of the last frame.
    checksum: u64,
    end: EndFrame,
    is_finished: bool,
}

impl BackupStream {
    /// Begins the backup of a snapshot that was taken at `now`, in Unix milliseconds.
    #[must_use]
    pub fn begin(snapshot: Snapshot, now: u64) -> Self {
        let start = format::start();
        let mut stream = Self {
            rows: snapshot.rows.fuse().peekable(),
            bytes: start.to_vec(),
            taken: 0,
            offset: 0,
            checksum: format::checksum(&start, 0),
            end: EndFrame::default(),
            is_finished: false,
        };
        let header = BackupHeader {
            made_at: now,
            server: env!("CARGO_PKG_VERSION").to_owned(),
            commit: snapshot.commit,
            records: record::VERSION,
        };
        stream.append_record(FrameKind::Header, &header);
        stream
    }

    /// Returns the position of the next byte.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next bytes, at most `most`. No bytes means that all were returned.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The backup cannot be completed then.
    pub fn next(&mut self, most: usize) -> Result<Vec<u8>, StoreError> {
        while self.bytes.len() - self.taken < most && !self.is_finished {
            self.bytes.drain(..mem::take(&mut self.taken));
            self.append_frame()?;
        }
        let rest = &self.bytes[self.taken..];
        let next = rest[..most.min(rest.len())].to_vec();
        self.taken += next.len();
        self.offset += next.len() as u64;
        Ok(next)
    }

    /// Appends the next frame.
    fn append_frame(&mut self) -> Result<(), StoreError> {
        let Some(first) = self.rows.next().transpose()? else {
            self.is_finished = true;
            let end = mem::take(&mut self.end);
            self.append_record(FrameKind::End, &end);
            return Ok(());
        };
        let space = first.0;
        let at = self.open_frame(FrameKind::Rows);
        self.bytes.push(space as u8);
        self.append_row(&first);
        while self.bytes.len() - at < MIN_FRAME_BYTES
            && let Some(row) = self.rows.next_if(|row| is_in(row, space))
        {
            self.append_row(&row?);
        }
        self.close_frame(at);
        Ok(())
    }

    fn append_row(&mut self, (space, key, value): &SpaceRow) {
        let key_length = u16::try_from(key.len()).expect("a key has at most 257 bytes");
        let value_length = u32::try_from(value.len()).expect("a value fits into a line");
        self.bytes.extend_from_slice(&key_length.to_le_bytes());
        self.bytes.extend_from_slice(&value_length.to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.end.rows[*space as usize] += 1;
    }

    /// Appends a frame with one record.
    fn append_record(&mut self, kind: FrameKind, record: &impl Serialize) {
        let at = self.open_frame(kind);
        let content = postcard::to_stdvec(record).expect("memory takes every record");
        self.bytes.extend_from_slice(&content);
        self.close_frame(at);
    }

    /// Begins a frame, and returns its position in `bytes`.
    fn open_frame(&mut self, kind: FrameKind) -> usize {
        let at = self.bytes.len();
        self.bytes.push(kind as u8);
        self.bytes.extend_from_slice(&[0; FRAME_HEAD - 1]);
        at
    }

    /// Sets the length of a frame, and appends its checksum.
    fn close_frame(&mut self, at: usize) {
        let length = self.bytes.len() - at - FRAME_HEAD;
        let length = u32::try_from(length).expect("a frame is shorter than 4 GiB");
        self.bytes[at + 1..at + FRAME_HEAD].copy_from_slice(&length.to_le_bytes());
        self.checksum = format::checksum(&self.bytes[at..], self.checksum);
        let checksum: [u8; CHECKSUM] = self.checksum.to_le_bytes();
        self.bytes.extend_from_slice(&checksum);
    }
}

/// Returns whether the next row belongs to a space. An error does not: it is returned before the
/// next frame.
fn is_in(row: &Result<SpaceRow, StoreError>, space: Space) -> bool {
    row.as_ref().is_ok_and(|row| row.0 == space)
}

impl fmt::Debug for BackupStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BackupStream");
        shown.field("offset", &self.offset).finish_non_exhaustive()
    }
}
