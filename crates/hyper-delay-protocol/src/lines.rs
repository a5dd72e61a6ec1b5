//! Splits the bytes of a connection into lines.

/// The smallest and the largest read, in bytes.
const READ: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 16;

/// A splitter: bytes go in, in pieces of any size, and lines come out.
///
/// A line ends with `\n`; one `\r` before it belongs to the end. Empty lines are skipped. A line
/// longer than the limit is reported once, and its bytes are discarded. The buffer holds at most
/// the limit and one read, and almost nothing between lines.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// The start of the next line.
    start: usize,
    /// There is no `\n` between `start` and here.
    scanned: usize,
    limit: usize,
    /// Whether the line at `start` has been reported as too long.
    skipping: bool,
    /// The size of the next read.
    read: usize,
    /// The length of the buffer before the last read.
    compacted: usize,
    /// The number of line ends so far, including those of empty lines.
    ended: u64,
    /// The number of the line that [`next`](Self::next) returned last.
    number: u64,
}

/// A line is longer than the limit. Its bytes are discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line is longer than {limit} bytes: send shorter ones, or raise max_line_bytes")]
pub struct TooLong {
    /// The limit in bytes, without the end of the line.
    pub limit: usize,
}

impl Lines {
    /// Returns a splitter for lines of at most `limit` bytes, not counting their ends.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            limit,
            skipping: false,
            read: *READ.start(),
            compacted: 0,
            ended: 0,
            number: 0,
        }
    }

    /// Raises the limit for the lines that follow.
    pub fn raise(&mut self, limit: usize) {
        self.limit = self.limit.max(limit);
    }

    /// Returns the buffer to append the next read to, with room for 1 KiB to 64 KiB or more,
    /// depending on the size of recent reads. Call it before each read, after [`next`](Self::next)
    /// has returned `None`.
    ///
    /// Call it when the socket is readable, so that an idle connection holds no buffer.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.compact();
        let held = self.buffer.len();
        if self.buffer.capacity() - held < self.read / 2 {
            // Doubling keeps the cost of copying a long line linear.
            let most = self.limit.saturating_add(self.read);
            let doubled = held.min(most.saturating_sub(held));
            self.buffer.reserve_exact(self.read.max(doubled));
        }
        &mut self.buffer
    }

    /// Returns the next complete line without its end.
    #[expect(clippy::should_implement_trait, reason = "the line borrows from this")]
    pub fn next(&mut self) -> Option<Result<&[u8], TooLong>> {
        let too_long = TooLong { limit: self.limit };
        let line = loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                let begun = without_return(&self.buffer[self.start..]).len();
                let reported = self.skipping;
                self.skipping |= begun > self.limit;
                self.scanned = self.buffer.len();
                if self.skipping {
                    self.start = self.scanned;
                }
                self.compact();
                self.number = self.ended + 1;
                return (self.skipping && !reported).then_some(Err(too_long));
            };
            let end = self.scanned + at;
            let start = self.start;
            self.scanned = end + 1;
            self.start = self.scanned;
            self.ended += 1;
            let length = without_return(&self.buffer[start..end]).len();
            if !std::mem::take(&mut self.skipping) && length > 0 {
                break start..start + length;
            }
        };
        self.number = self.ended;
        if line.len() > self.limit {
            return Some(Err(too_long));
        }
        Some(Ok(&self.buffer[line]))
    }

    /// The number of the line that [`next`](Self::next) returned last: 1 for the first line of the
    /// connection. Empty lines count.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the first byte that is in no returned line.
    #[must_use]
    pub fn first_byte(&self) -> Option<u8> {
        self.buffer.get(self.start).copied()
    }

    /// Returns how much memory the unfinished line takes; 0 between lines.
    #[must_use]
    pub const fn unfinished(&self) -> usize {
        match self.buffer.is_empty() {
            true => 0,
            false => self.buffer.capacity(),
        }
    }

    /// Removes the returned lines from the buffer, and adapts its size.
    fn compact(&mut self) {
        let got = self.buffer.len() - self.compacted;
        if got > 0 {
            let full = self.buffer.len() == self.buffer.capacity();
            let read = if full {
                self.read * 2
            } else {
                got.next_power_of_two()
            };
            self.read = read.clamp(*READ.start(), *READ.end());
        }
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.compacted = self.buffer.len();
        if self.buffer.capacity() > 4 * (self.compacted + READ.start()) {
            self.buffer.shrink_to_fit();
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests;
