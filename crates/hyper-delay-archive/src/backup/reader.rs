use std::io::{ErrorKind, Read};

use serde::de::DeserializeOwned;

use super::{
    BackupError,
    format::{
        self, BackupHeader, CHECKSUM, EndFrame, FRAME_HEAD, FrameKind, MAGIC, MAX_CONTENT, START,
        VERSION,
    },
};
use hyper_delay_store::{Bytes, Space, SpaceRow, record};

/// Reads a backup, and checks each frame before it returns a row of it.
#[derive(Debug)]
pub struct BackupReader<R> {
    input: R,
    name: String,
    header: BackupHeader,
    /// The position after the last frame that was read.
    at: u64,
    /// The checksum of the last frame.
    checksum: u64,
    /// The content of the frame of rows, and the position of the next row in it.
    frame: Vec<u8>,
    next: usize,
    /// The rows so far.
    row_counts: EndFrame,
    /// The last space and key.
    last: Option<(Space, Bytes)>,
    is_finished: bool,
}

impl<R: Read> BackupReader<R> {
    /// Reads the header. `name` is the name of the backup in errors.
    ///
    /// # Errors
    ///
    /// If the bytes do not begin like a backup, are damaged, or a newer server has written them.
    pub fn open(input: R, name: &str) -> Result<Self, BackupError> {
        let mut reader = Self {
            input,
            name: name.to_owned(),
            header: BackupHeader {
                made_at: 0,
                server: String::new(),
                commit: 0,
                records: 0,
            },
            at: 0,
            checksum: 0,
            frame: Vec::new(),
            next: 0,
            row_counts: EndFrame::default(),
            last: None,
            is_finished: false,
        };
        let mut start = [0; START];
        let read = reader.fill(&mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if read < START || magic != MAGIC {
            return Err(BackupError::NoBackup { name: reader.name });
        }
        let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
        reader.at = START as u64;
        reader.checksum = format::checksum(&start, 0);
        // The checksum of the header covers the version: a damaged one is not taken for a newer
        // one.
        let kind = reader.read_frame()?;
        if version > VERSION {
            let header: Option<BackupHeader> = postcard::from_bytes(&reader.frame).ok();
            return Err(reader.newer(version, header.map(|it| it.server), record::VERSION));
        }
        if version != VERSION {
            return Err(reader.damaged(format!("its format {version} does not exist")));
        }
        match kind {
            FrameKind::Header => reader.header = reader.decode()?,
            _ => return Err(reader.damaged("its header is missing")),
        }
        if reader.header.records > record::VERSION {
            let server = Some(reader.header.server.clone());
            return Err(reader.newer(VERSION, server, reader.header.records));
        }
        reader.frame.clear();
        Ok(reader)
    }

    pub(super) const fn header(&self) -> &BackupHeader {
        &self.header
    }

    /// Returns the next row; `None` after the last one, when the whole backup was read and is
    /// whole.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged or cannot be read.
    pub fn next_row(&mut self) -> Result<Option<SpaceRow>, BackupError> {
        while self.next >= self.frame.len() {
            if self.is_finished {
                return Ok(None);
            }
            match self.read_frame()? {
                FrameKind::Rows => self.next = 1,
                FrameKind::End => self.check_end()?,
                FrameKind::Header => return Err(self.damaged("it has a second header")),
            }
        }
        self.parse_row().map(Some)
    }

    fn parse_row(&mut self) -> Result<SpaceRow, BackupError> {
        let space = usize::from(self.frame[0]);
        let row = Space::ALL.get(space).and_then(|space| {
            let rest = &self.frame[self.next..];
            let (key_length, rest) = rest.split_first_chunk()?;
            let (value_length, rest) = rest.split_first_chunk()?;
            let key_length = usize::from(u16::from_le_bytes(*key_length));
            let value_length = usize::try_from(u32::from_le_bytes(*value_length)).ok()?;
            let (key, rest) = rest.split_at_checked(key_length)?;
            let (value, rest) = rest.split_at_checked(value_length)?;
            let left = rest.len();
            Some((*space, Bytes::from(key), Bytes::from(value), left))
        });
        let Some((space, key, value, left)) = row else {
            return Err(self.damaged("a row is malformed"));
        };
        self.next = self.frame.len() - left;
        let is_ordered = self
            .last
            .as_ref()
            .is_none_or(|(before, last)| (*before as usize, &**last) < (space as usize, &*key));
        if !is_ordered {
            return Err(self.damaged("its rows are not in order"));
        }
        self.row_counts.rows[space as usize] += 1;
        self.last = Some((space, key.clone()));
        Ok((space, key, value))
    }

    /// Checks the end of the backup.
    fn check_end(&mut self) -> Result<(), BackupError> {
        let end: EndFrame = self.decode()?;
        if end != self.row_counts {
            return Err(self.damaged("it has another number of rows than its end says"));
        }
        if self.fill(&mut [0])? > 0 {
            return Err(self.damaged("bytes follow its end"));
        }
        self.frame.clear();
        self.next = 0;
        self.is_finished = true;
        Ok(())
    }

    /// Reads a frame into `frame`.
    fn read_frame(&mut self) -> Result<FrameKind, BackupError> {
        let mut head = [0; FRAME_HEAD];
        if self.fill(&mut head)? < FRAME_HEAD {
            return Err(self.damaged("it is cut off: its end is missing"));
        }
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let kind = FrameKind::of(head[0]).filter(|_| length <= MAX_CONTENT);
        let Some(kind) = kind else {
            return Err(self.damaged("the head of a frame is not readable"));
        };
        let mut bytes = Vec::new();
        let whole = FRAME_HEAD + length + CHECKSUM;
        bytes.extend_from_slice(&head);
        // Grows with what is there: a damaged length may promise more.
        let read = self.input.by_ref().take((whole - FRAME_HEAD) as u64);
        let read = { read }.read_to_end(&mut bytes);
        read.map_err(|source| self.unreadable(source))?;
        if bytes.len() < whole {
            return Err(self.damaged("it is cut off: its end is missing"));
        }
        let (content, checksum) = bytes.split_at(whole - CHECKSUM);
        let found = format::checksum(content, self.checksum);
        if found.to_le_bytes() != checksum {
            return Err(self.damaged("a checksum does not match"));
        }
        self.checksum = found;
        self.at += whole as u64;
        bytes.truncate(whole - CHECKSUM);
        bytes.drain(..FRAME_HEAD);
        self.frame = bytes;
        self.next = self.frame.len();
        Ok(kind)
    }

    fn decode<T: DeserializeOwned>(&self) -> Result<T, BackupError> {
        postcard::from_bytes(&self.frame).map_err(|error| self.damaged(error.to_string()))
    }

    /// Reads until the buffer is full or the input has ended. Returns the number of bytes.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, BackupError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(error)),
            }
        }
        Ok(filled)
    }

    fn unreadable(&self, source: std::io::Error) -> BackupError {
        BackupError::Io {
            name: self.name.clone(),
            source,
        }
    }

    fn newer(&self, format: u32, server: Option<String>, records: u8) -> BackupError {
        BackupError::Newer {
            name: self.name.clone(),
            server,
            format,
            records,
        }
    }

    fn damaged(&self, what: impl Into<String>) -> BackupError {
        BackupError::Damaged {
            name: self.name.clone(),
            at: self.at,
            what: what.into(),
        }
    }
}
