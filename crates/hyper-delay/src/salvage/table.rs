use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::{
    block::{self, Header, MAGIC},
    faults::Fault,
    row::Row,
};

/// The start of the table of contents, which follows the last block.
const CONTENTS: [u8; 4] = *b"TOC!";

/// Reads the rows of a table file block by block, ordered by key.
///
/// It does not need the index and the table of contents. A damaged block costs only its own rows:
/// the reader continues at the next header with a correct checksum.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    file: BufReader<File>,
    /// The position of the next block.
    at: u64,
    length: u64,
    has_ended: bool,
    /// Added to the sequence numbers in the file.
    shift: u64,
    rows: VecDeque<Row>,
}

impl Table {
    pub(super) fn open(path: &Path, shift: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self {
            length: file.metadata()?.len(),
            file: BufReader::with_capacity(32 << 10, file),
            path: path.to_owned(),
            at: 0,
            has_ended: false,
            shift,
            rows: VecDeque::new(),
        })
    }

    /// Returns the next row, or the next range that cannot be read.
    pub(super) fn next(&mut self) -> Option<Result<Row, Fault>> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return Some(Ok(row));
            }
            if self.has_ended {
                return None;
            }
            let from = self.at;
            match self.block() {
                Ok(Some(what)) => return Some(Err(self.fault(from, what))),
                Ok(None) => {}
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(Fault::new(&self.path, format!("byte {from}: {error}"))));
                }
            }
        }
    }

    fn fault(&self, from: u64, what: &str) -> Fault {
        Fault::new(&self.path, format!("bytes {from} to {}: {what}", self.at))
    }

    /// Reads the next block, and returns its damage if there is any.
    fn block(&mut self) -> io::Result<Option<&'static str>> {
        let Some(header) = self.header()? else {
            let found = self.bytes_at::<4>(self.at)?;
            if found == Some(CONTENTS) {
                self.has_ended = true;
                return Ok(None);
            }
            if self.is_version()? {
                self.at += 1;
                return Ok(None);
            }
            self.at = self.resume(self.at + 1)?;
            return Ok(Some(match found {
                Some(_) => "they are no block",
                None => "the file is cut off",
            }));
        };
        let data_at = self.at + Header::LENGTH as u64;
        let end = data_at + u64::from(header.length);
        if end > self.length {
            self.at = self.resume(data_at)?;
            return Ok(Some("the file is cut off in a block"));
        }
        self.at = end;
        let mut data = vec![0; usize::try_from(header.length).map_err(io::Error::other)?];
        self.seek(data_at)?;
        self.file.read_exact(&mut data)?;
        if let Err(what) = header.check(&data) {
            return Ok(Some(what));
        }
        if header.is_data {
            match block::rows(&data, self.shift) {
                Some(rows) => self.rows = rows.into(),
                None => return Ok(Some("its items are malformed")),
            }
        }
        Ok(None)
    }

    fn header(&mut self) -> io::Result<Option<Header>> {
        let bytes = self.bytes_at(self.at)?;
        Ok(bytes.and_then(|bytes| Header::read(&bytes)))
    }

    /// Returns whether the next byte is the version of the table, which precedes the last block.
    fn is_version(&mut self) -> io::Result<bool> {
        const VERSION: u8 = 3;
        let bytes = self.bytes_at::<{ 1 + Header::LENGTH }>(self.at)?;
        let rest = bytes
            .as_ref()
            .and_then(|bytes| bytes.split_first_chunk::<1>());
        let header = rest.and_then(|(byte, rest)| {
            Header::read(rest.first_chunk().filter(|_| *byte == [VERSION])?)
        });
        Ok(header.is_some())
    }

    /// Finds the next valid header or the table of contents. Without one the file has ended.
    fn resume(&mut self, from: u64) -> io::Result<u64> {
        let mut at = from;
        self.seek(from)?;
        // The last four bytes, oldest first.
        let mut window = [0; 4];
        let mut filled = 0;
        let mut byte = [0];
        while self.file.read(&mut byte)? == 1 {
            window.rotate_left(1);
            window[3] = byte[0];
            filled += 1;
            at += 1;
            let start = at.saturating_sub(4);
            if filled < 4 || (window != MAGIC && window != CONTENTS) {
                continue;
            }
            let is_end = window == CONTENTS && self.is_contents(start)?;
            let is_block = window == MAGIC
                && self
                    .bytes_at(start)?
                    .is_some_and(|bytes| Header::read(&bytes).is_some());
            if is_end || is_block {
                return Ok(start);
            }
            self.seek(at)?;
        }
        self.has_ended = true;
        Ok(self.length)
    }

    /// Returns whether the table of contents begins at `at`. Its first section begins at 0.
    fn is_contents(&mut self, at: u64) -> io::Result<bool> {
        let bytes: Option<[u8; 16]> = self.bytes_at(at)?;
        Ok(bytes.is_some_and(|bytes| bytes[8..] == [0; 8]))
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
