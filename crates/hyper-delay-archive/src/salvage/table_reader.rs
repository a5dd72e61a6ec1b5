use std::{
    fs::File,
    io::{self, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    vec,
};

use super::{
    block::{self, BlockHeader, MAGIC},
    faults::FileFault,
    row::RowVersion,
};
use hyper_delay_fjall::files::trailer;

/// The start of the table of contents, which follows the last block.
const CONTENTS: [u8; 4] = *b"TOC!";

/// Reads the rows of a table file block by block, ordered by key.
///
/// It does not need the index. A damaged block costs only its own rows: the reader continues at the
/// next header with a correct checksum. A value can contain bytes that look like blocks: see
/// [`IntactTail`].
#[derive(Debug)]
pub(super) struct TableReader {
    path: PathBuf,
    file: BufReader<File>,
    /// The position of the next block.
    at: u64,
    length: u64,
    /// Where the table of contents begins, by the trailer; unknown if that is damaged.
    contents: Option<u64>,
    has_ended: bool,
    /// Added to the sequence numbers in the file.
    shift: u64,
    rows: vec::IntoIter<RowVersion>,
    /// The key of the last row that was read.
    last: Vec<u8>,
    /// Known after a damaged header.
    intact_tail: Option<IntactTail>,
}

/// The blocks from which an unbroken chain of blocks leads to the table of contents.
///
/// Before them and after damage, bytes that look like a block can be a block between two damaged
/// headers, or bytes in a value of the block with the damaged header. So their rows count only if
/// the keys fit between those around them.
#[derive(Debug)]
struct IntactTail {
    /// Where the first of these blocks begins, or the end of the file if there are none.
    from: u64,
    /// The first key in them, if it is known.
    key: Option<Vec<u8>>,
}

impl TableReader {
    pub(super) fn open(path: &Path, shift: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut table = Self {
            length,
            contents: None,
            file: BufReader::with_capacity(32 << 10, file),
            path: path.to_owned(),
            at: 0,
            has_ended: false,
            shift,
            rows: Vec::new().into_iter(),
            last: Vec::new(),
            intact_tail: None,
        };
        table.contents = table.find_contents()?;
        Ok(table)
    }

    /// Returns the next row, or the next range that cannot be read.
    pub(super) fn next(&mut self) -> Option<Result<RowVersion, FileFault>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            if self.has_ended {
                return None;
            }
            let from = self.at;
            match self.read_block() {
                Ok(Some(what)) => return Some(Err(self.fault(from, what))),
                Ok(None) => {}
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(FileFault::new(
                        &self.path,
                        format!("byte {from}: {error}"),
                    )));
                }
            }
        }
    }

    fn fault(&self, from: u64, what: &str) -> FileFault {
        FileFault::new(&self.path, format!("bytes {from} to {}: {what}", self.at))
    }

    /// Reads the next block, and returns its damage if there is any.
    fn read_block(&mut self) -> io::Result<Option<&'static str>> {
        if self.is_end()? {
            self.has_ended = true;
            return Ok(None);
        }
        let Some(header) = self.read_header(self.at)? else {
            if self.is_version(self.at)? {
                self.at += 1;
                return Ok(None);
            }
            let is_cut = self.length - self.at < BlockHeader::LENGTH as u64;
            self.resume(self.at + 1)?;
            return Ok(Some(if is_cut {
                "the file is cut off"
            } else {
                "they are no block"
            }));
        };
        let end = header.end(self.at);
        if end > self.length {
            self.resume(self.at + BlockHeader::LENGTH as u64)?;
            return Ok(Some("the file is cut off in a block"));
        }
        let at = std::mem::replace(&mut self.at, end);
        let data = self.read_data(at, &header)?;
        if let Err(what) = header.check(&data) {
            return Ok(Some(what));
        }
        if header.is_data {
            let Some(rows) = block::rows(&data, self.shift) else {
                return Ok(Some("its items are malformed"));
            };
            if !self.fits(at, &rows) {
                return Ok(Some("its keys do not follow those before the damage"));
            }
            if let Some(row) = rows.last() {
                self.last.clone_from(&row.key);
            }
            self.rows = rows.into_iter();
        }
        Ok(None)
    }

    /// Returns whether these rows can be at this place.
    fn fits(&self, at: u64, rows: &[RowVersion]) -> bool {
        let Some(rest) = self.intact_tail.as_ref().filter(|rest| at < rest.from) else {
            return true;
        };
        let keys = || rows.iter().map(|row| &row.key);
        let is_before = |last: &Vec<u8>| rest.key.as_ref().is_none_or(|key| last < key);
        keys().is_sorted()
            && keys().next().is_none_or(|first| *first > self.last)
            && keys().next_back().is_none_or(is_before)
    }

    fn read_header(&mut self, at: u64) -> io::Result<Option<BlockHeader>> {
        let bytes = self.bytes_at(at)?;
        Ok(bytes.and_then(|bytes| BlockHeader::read(&bytes)))
    }

    fn read_data(&mut self, at: u64, header: &BlockHeader) -> io::Result<Vec<u8>> {
        let mut data = vec![0; usize::try_from(header.length).map_err(io::Error::other)?];
        self.seek(at + BlockHeader::LENGTH as u64)?;
        self.file.read_exact(&mut data)?;
        Ok(data)
    }

    /// Returns whether the version of the table is here: a byte in front of the last block.
    fn is_version(&mut self, at: u64) -> io::Result<bool> {
        const VERSION: [u8; 1] = [3];
        Ok(self.bytes_at(at)? == Some(VERSION) && self.read_header(at + 1)?.is_some())
    }

    /// Returns whether the blocks end here.
    fn is_end(&mut self) -> io::Result<bool> {
        match self.contents {
            Some(contents) => Ok(self.at == contents),
            None => Ok(self.bytes_at(self.at)? == Some(CONTENTS)),
        }
    }

    /// Moves to the next valid header, or to the end of the file if there is none.
    fn resume(&mut self, from: u64) -> io::Result<()> {
        if self.intact_tail.is_none() {
            self.intact_tail = Some(self.find_intact_tail(from)?);
        }
        let found = self.find_header(from)?;
        self.has_ended = found.is_none();
        self.at = found.unwrap_or(self.length);
        Ok(())
    }

    fn find_intact_tail(&mut self, from: u64) -> io::Result<IntactTail> {
        let mut from = from;
        while let Some(found) = self.find_header(from)? {
            let end = self.chain_end(found)?;
            if self.contents == Some(end) {
                let key = self.first_key(found)?;
                return Ok(IntactTail { from: found, key });
            }
            from = end;
        }
        Ok(IntactTail {
            from: self.length,
            key: None,
        })
    }

    /// Returns where the unbroken chain of blocks ends that begins here.
    fn chain_end(&mut self, from: u64) -> io::Result<u64> {
        let mut at = from;
        loop {
            if let Some(header) = self.read_header(at)? {
                at = header.end(at);
            } else if self.is_version(at)? {
                at += 1;
            } else {
                return Ok(at);
            }
        }
    }

    /// Returns the first key of a block, if that can be read.
    fn first_key(&mut self, at: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(header) = self.read_header(at)?.filter(|header| header.is_data) else {
            return Ok(None);
        };
        let data = self.read_data(at, &header)?;
        let rows = header.check(&data).ok();
        let rows = rows.and_then(|()| block::rows(&data, self.shift));
        Ok(rows.and_then(|rows| Some(rows.into_iter().next()?.key)))
    }

    /// Finds the next valid header.
    fn find_header(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        // The last four bytes, oldest first.
        let mut window = [0; 4];
        let mut filled = 0;
        let mut byte = [0];
        self.seek(from.min(self.length))?;
        while self.file.read(&mut byte)? == 1 {
            window.rotate_left(1);
            window[3] = byte[0];
            filled += 1;
            at += 1;
            if filled < 4 || window != MAGIC {
                continue;
            }
            if self.read_header(at - 4)?.is_some() {
                return Ok(Some(at - 4));
            }
            self.seek(at)?;
        }
        Ok(None)
    }

    fn find_contents(&mut self) -> io::Result<Option<u64>> {
        let Some(at) = self.length.checked_sub(trailer::LENGTH as u64) else {
            return Ok(None);
        };
        let bytes = self.bytes_at::<{ trailer::LENGTH }>(at)?;
        let contents = bytes.and_then(|bytes| trailer::contents(&bytes));
        let Some(contents) = contents.filter(|contents| *contents < self.length) else {
            return Ok(None);
        };
        let is_there = self.bytes_at(contents)? == Some(CONTENTS);
        Ok(is_there.then_some(contents))
    }

    fn bytes_at<const N: usize>(&mut self, at: u64) -> io::Result<Option<[u8; N]>> {
        if at.saturating_add(N as u64) > self.length {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.seek(at)?;
        self.file.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Moves to a position and keeps the buffer if it contains that position.
    fn seek(&mut self, to: u64) -> io::Result<()> {
        let now = self.file.stream_position()?;
        match i64::try_from(i128::from(to) - i128::from(now)) {
            Ok(by) => self.file.seek_relative(by),
            Err(_) => self.file.seek(SeekFrom::Start(to)).map(drop),
        }
    }
}
