use std::{io, mem};

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The size of a read.
const CHUNK: usize = 16 * 1024;

/// A splitter: bytes go in, and lines come out, without `\n` or `\r\n` and without empty lines.
///
/// Holds at most one line of the limit and one read.
#[derive(Debug)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// The start of the next line.
    start: usize,
    /// There is no `\n` between `start` and here.
    searched: usize,
    limit: usize,
    /// Whether the line at `start` was reported as too long and is skipped to its end.
    skipping: bool,
}

/// The server sent a line longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the server sent a line of more than {limit} bytes; `max_line_bytes` allows more")]
pub(crate) struct LineTooLong {
    limit: usize,
}

impl Lines {
    /// Returns a splitter for lines of at most `limit` bytes, not counting their ends.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            limit,
            skipping: false,
        }
    }

    /// Waits for bytes and reads them. Returns 0 at the end of the connection.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, nothing is read.
    pub(crate) async fn fill(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.reserve(CHUNK);
        from.read_buf(&mut self.bytes).await
    }

    /// Returns the next complete line. A line that is too long is reported once and skipped.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.bytes[self.searched..]) else {
                self.searched = self.bytes.len();
                if self.skipping {
                    self.start = self.searched;
                    return Ok(None);
                }
                // The last byte over the limit may be the `\r` of the end.
                if self.searched - self.start > self.limit.saturating_add(1) {
                    self.skipping = true;
                    self.start = self.searched;
                    return Err(LineTooLong { limit: self.limit });
                }
                return Ok(None);
            };
            let (start, end) = (self.start, self.searched + found);
            self.start = end + 1;
            self.searched = end + 1;
            if mem::take(&mut self.skipping) {
                continue;
            }
            let length = match &self.bytes[start..end] {
                [.., b'\r'] => end - start - 1,
                line => line.len(),
            };
            if length > self.limit {
                return Err(LineTooLong { limit: self.limit });
            }
            if length > 0 {
                return Ok(Some(&self.bytes[start..start + length]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LineTooLong, Lines};

    async fn all(limit: usize, pieces: &[&[u8]]) -> Result<Vec<String>, LineTooLong> {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        for piece in pieces {
            let mut piece: &[u8] = piece;
            lines.fill(&mut piece).await.unwrap();
            while let Some(line) = lines.next()? {
                out.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        Ok(out)
    }

    #[tokio::test]
    async fn a_line_may_come_in_pieces_and_several_at_once() {
        let lines = all(9, &[b"on", b"e", b"\ntwo\n\n\r\nth", b"ree\r", b"\nrest"]).await;
        assert_eq!(lines.unwrap(), ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn the_limit_does_not_count_the_end() {
        assert_eq!(all(3, &[b"abc\r\nabc\n"]).await.unwrap(), ["abc", "abc"]);
        assert_eq!(all(3, &[b"abc\r", b"\n"]).await.unwrap(), ["abc"]);
        assert_eq!(all(3, &[b"abcd\n"]).await, Err(LineTooLong { limit: 3 }));
        assert_eq!(
            all(3, &[b"abcd", b"e"]).await,
            Err(LineTooLong { limit: 3 })
        );
    }
}
