//! Reads the journal files of the embedded store without changing them.
//!
//! A journal is a sequence of batches in a file that may be preallocated with zeros. All integers
//! are little-endian.
//!
//! ```text
//! start  = 1, item count: u32, seqno: u64
//! item   = 2, kind: u8 (0 put, 1 removal, 2 weak removal), compression: u8 (0), keyspace: u64,
//!          key length: u16, value length: u32, stored length: u32, key, value
//! clear  = 4, keyspace: u64
//! end    = 3, checksum: u64 (XXH3 over the bytes of all items and clears), "FJL", 3
//! ```
//!
//! The checksum does not cover the start. The item count must match. The sequence number must be
//! greater than that of the last batch with items, by a plausible step. After a restart the library
//! can reuse the sequence numbers of clears at the end of a journal.

mod parse;

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read, Seek as _, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use parse::ParseError;

/// The limit of the work on a journal, in hashed bytes for each of its bytes. Reading it takes a
/// tenth of that, unless its payloads are made to look like batches.
const WORK_PER_BYTE: u64 = 64;

/// The limit of the work on a short journal.
const MIN_WORK: u64 = 4 << 20;

/// A step between two sequence numbers that writes cannot cause.
const IMPLAUSIBLE_STEP: u64 = 1 << 40;

/// One journal file, in memory.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// A complete batch with a correct checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalBatch<'a> {
    /// The position in the file.
    pub range: Range<usize>,
    /// The sequence number, which orders batches with items over all journals of a store.
    pub seqno: u64,
    /// Keys that are put or removed.
    pub items: Vec<JournalItem<'a>>,
    /// Keyspaces that are cleared after `items`.
    pub clears: Vec<u64>,
}

/// One put or removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalItem<'a> {
    /// The number of the keyspace: the name of its folder.
    pub keyspace: u64,
    /// The key.
    pub key: &'a [u8],
    /// The value. `None` for a removal.
    pub value: Option<&'a [u8]>,
}

/// Bytes of a journal that are not a readable batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalDamage {
    /// The position in the file, up to the next readable batch or the last byte that is not zero.
    pub range: Range<usize>,
    /// The damage to the batch that begins there.
    pub reason: BatchDamage,
    /// Whether no readable batch follows. A crash can cause this.
    pub is_tail: bool,
    /// Whether all these bytes were searched for a readable batch. The search stops early if they
    /// contain too many bytes that look like batches.
    pub is_searched: bool,
}

/// The damage to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchDamage {
    /// The file ends before the batch does.
    #[error("the file ends in the middle of a batch")]
    Cut,
    /// A tag has an unexpected value.
    #[error("byte {found:#04x} is not an expected tag")]
    Tag {
        /// The byte that was found.
        found: u8,
    },
    /// The number of items differs from the number in the start of the batch.
    #[error("the batch announces {announced} items and has {found}")]
    ItemCount {
        /// Number of items in the start.
        announced: u32,
        /// Number of items before the end.
        found: u32,
    },
    /// The checksum of the items and clears is wrong.
    #[error("the checksum does not match")]
    Checksum,
    /// The sequence number is not greater than the one before by a plausible step.
    #[error("sequence number {found} cannot follow {before}")]
    Seqno {
        /// The sequence number of the batch before. 0 if there is none.
        before: u64,
        /// The sequence number of this batch.
        found: u64,
    },
}

impl JournalFile {
    /// Lists the journal files of a store folder, in the order in which they were written.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn list(store: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(store)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jnl")
                && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
                && let Ok(number) = stem.parse::<u64>()
            {
                found.push((number, path));
            }
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// Reads a journal file into memory.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = read_up_to_zeros(File::open(path)?)?;
        let end = bytes.iter().rposition(|byte| *byte != 0);
        // A batch ends with a byte that is not zero. The zeros after it are preallocated.
        bytes.truncate(end.map_or(0, |end| end + 1));
        Ok(Self {
            path: path.to_owned(),
            bytes,
        })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the written bytes, without the zeros at the end.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// Yields every readable batch in order, and an error for each range of other bytes.
    ///
    /// After damage a batch is recognized by its checksum alone, and a payload can contain bytes of
    /// a valid batch. Trust such a batch only if it is proven to belong to the journal.
    #[must_use]
    pub const fn batches(&self) -> JournalBatches<'_> {
        JournalBatches::new(self.bytes.as_slice())
    }
}

/// The batches of a journal. See [`JournalFile::batches`].
#[derive(Debug, Clone)]
pub struct JournalBatches<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The batch at `at`, if it was read ahead.
    lookahead: Option<Result<JournalBatch<'a>, UnreadableBatch>>,
    /// The sequence number of the last batch with items; after damage, of the last before the
    /// first damage or since the latest. A batch after damage can be one in a payload: it must not
    /// hide batches after the next damage.
    previous_seqno: u64,
    /// `previous_seqno` at the first damage.
    seqno_before_damage: Option<u64>,
    /// The work so far, in hashed bytes.
    work: u64,
}

/// A batch that cannot be read.
#[derive(Debug, Clone, Copy)]
struct UnreadableBatch {
    reason: BatchDamage,
    /// The position after it, if the batch says where it ends.
    end: Option<usize>,
}

impl<'a> JournalBatches<'a> {
    const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            lookahead: None,
            previous_seqno: 0,
            seqno_before_damage: None,
            work: 0,
        }
    }

    /// Reads the batch at the current place and moves behind it.
    fn advance(&mut self) -> Result<JournalBatch<'a>, UnreadableBatch> {
        let batch = match self.lookahead.take() {
            Some(ahead) => ahead,
            None => self.parse(self.at),
        }?;
        let end = batch.range.end;
        let out_of_order = |reason| UnreadableBatch {
            reason,
            end: Some(end),
        };
        self.check_order(batch.seqno).map_err(out_of_order)?;
        if end < self.bytes.len() {
            let next = self.parse(end);
            // A clear can have a number that is used again later.
            if let Ok(next) = &next
                && !batch.items.is_empty()
                && self.is_outlier(batch.seqno, next)
            {
                return Err(out_of_order(self.out_of_order(batch.seqno)));
            }
            self.lookahead = Some(next);
        }
        self.at = end;
        if !batch.items.is_empty() {
            self.previous_seqno = batch.seqno;
        }
        Ok(batch)
    }

    fn parse(&mut self, at: usize) -> Result<JournalBatch<'a>, UnreadableBatch> {
        parse::batch(self.bytes, at, &mut self.work).map_err(UnreadableBatch::from)
    }

    fn check_order(&self, seqno: u64) -> Result<(), BatchDamage> {
        // The first batch of a journal follows one that is not here.
        let most = match self.previous_seqno {
            0 => 1 << 56,
            before => before.saturating_add(IMPLAUSIBLE_STEP),
        };
        if (self.previous_seqno == 0 || seqno > self.previous_seqno) && seqno < most {
            Ok(())
        } else {
            Err(self.out_of_order(seqno))
        }
    }

    const fn out_of_order(&self, seqno: u64) -> BatchDamage {
        BatchDamage::Seqno {
            before: self.previous_seqno,
            found: seqno,
        }
    }

    /// Returns whether a sequence number is too high: the next two batches follow the one before.
    fn is_outlier(&mut self, seqno: u64, next: &JournalBatch<'_>) -> bool {
        let is_lower =
            |batch: &JournalBatch<'_>, before: u64| (before + 1..seqno).contains(&batch.seqno);
        is_lower(next, self.previous_seqno)
            && (self.parse(next.range.end)).is_ok_and(|after| is_lower(&after, next.seqno))
    }

    /// Returns the next place where a batch can be read. Looks first where the unreadable batch
    /// ends: its payloads can look like batches.
    fn resume(&mut self, end: Option<usize>) -> Option<usize> {
        let bytes = self.bytes;
        if end == Some(bytes.len()) {
            return None;
        }
        for at in end
            .into_iter()
            .chain(parse::batch_starts(bytes, self.at + 1))
        {
            if self.is_exhausted() {
                return None;
            }
            if self.is_batch(at) {
                return Some(at);
            }
        }
        None
    }

    fn is_batch(&mut self, at: usize) -> bool {
        self.parse(at)
            .is_ok_and(|batch| self.check_order(batch.seqno).is_ok())
    }

    /// Returns whether payloads that look like batches cost too much work.
    const fn is_exhausted(&self) -> bool {
        self.work > MIN_WORK + WORK_PER_BYTE * self.bytes.len() as u64
    }
}

impl<'a> Iterator for JournalBatches<'a> {
    type Item = Result<JournalBatch<'a>, JournalDamage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.bytes.len() {
            return None;
        }
        let UnreadableBatch { reason, end } = match self.advance() {
            Ok(batch) => return Some(Ok(batch)),
            Err(unreadable) => unreadable,
        };
        self.previous_seqno = *self.seqno_before_damage.get_or_insert(self.previous_seqno);
        let from = self.at;
        let next = self.resume(end);
        let is_searched = next.is_some() || !self.is_exhausted();
        self.at = next.unwrap_or(self.bytes.len());
        Some(Err(JournalDamage {
            range: from..self.at,
            reason,
            is_tail: next.is_none() && is_searched,
            is_searched,
        }))
    }
}

impl From<ParseError> for UnreadableBatch {
    fn from(failure: ParseError) -> Self {
        let (reason, end) = match failure {
            ParseError::End => (BatchDamage::Cut, None),
            ParseError::Checksum { end } => (BatchDamage::Checksum, Some(end)),
            ParseError::Damage(reason) => (reason, None),
        };
        Self { reason, end }
    }
}

/// Reads a file without the blocks of zeros at its end.
fn read_up_to_zeros(mut file: File) -> io::Result<Vec<u8>> {
    const BLOCK: usize = 64 << 10;
    let zeros = vec![0; BLOCK];
    let mut block = Vec::with_capacity(BLOCK);
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(data) = next_data(&file, at as u64)? {
        at = usize::try_from(data).map_err(io::Error::other)?;
        file.seek(SeekFrom::Start(data))?;
        block.clear();
        if file.by_ref().take(BLOCK as u64).read_to_end(&mut block)? == 0 {
            break;
        }
        if block != zeros[..block.len()] {
            bytes.resize(at, 0);
            bytes.extend_from_slice(&block);
        }
        at += block.len();
    }
    Ok(bytes)
}

/// Returns the next place of a file that is not in a hole, if there is one. Most of a preallocated
/// journal is a hole.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    use rustix::{fs, io::Errno};
    match fs::seek(file, fs::SeekFrom::Data(from)) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        Err(Errno::INVAL) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
fn next_data(_: &File, from: u64) -> io::Result<Option<u64>> {
    Ok(Some(from))
}

impl fmt::Display for JournalDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.range;
        write!(f, "bytes {start} to {end}: {}", self.reason)?;
        if !self.is_searched {
            f.write_str(
                "; they contain too many bytes that look like batches and are not, so readable \
                 batches among them were not found",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
