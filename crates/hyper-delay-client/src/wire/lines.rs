use std::{io, mem};

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is asked of the socket at once.
const CHUNK: usize = 16 * 1024;

/// Bytes in, lines out: without their `\n` or `\r\n`, and without the empty ones.
///
/// Holds at most one line of the limit, and one chunk.
#[derive(Debug)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Where the line that is not yet given out starts.
    start: usize,
    /// Up to here there is no `\n` from `start` on.
    searched: usize,
    limit: usize,
    /// Whether the line at `start` has been reported as too long: it is left out, up to its end.
    skipping: bool,
}

/// The peer has sent more than the limit without an end of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the server sent a line of more than {limit} bytes; `max_line_bytes` allows more")]
pub(crate) struct LineTooLong {
    limit: usize,
}

impl Lines {
    /// Lines of at most `limit` bytes each, their ends not counted.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            limit,
            skipping: false,
        }
    }

    /// Waits for bytes, and takes them in. 0 is the end.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, it has taken no byte.
    pub(crate) async fn fill(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.reserve(CHUNK);
        from.read_buf(&mut self.bytes).await
    }

    /// The next whole line, if there is one. One that is too long is reported once, and left out.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.bytes[self.searched..]) else {
                self.searched = self.bytes.len();
                if self.skipping {
                    self.start = self.searched;
                    return Ok(None);
                }
                // One more than the limit, as the last may be the `\r` of an end.
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
