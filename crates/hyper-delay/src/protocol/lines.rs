//! Splitting what a connection reads into lines.

/// The least and the most that is read at once.
const READ: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 16;

/// Bytes in, in any pieces; lines out.
///
/// A line ends with `\n`; one `\r` before it belongs to the end. Empty lines are left out. A line that is longer than
/// the limit is reported once and forgotten up to its end. At no time is more held than the limit and one
/// read, and next to nothing while nothing is begun.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where there is no `\n` after `start`.
    seen: usize,
    limit: usize,
    /// Whether the line at `start` has been reported as too long.
    skipping: bool,
    /// How much room the next read gets.
    read: usize,
    /// How much was held before the latest read.
    settled: usize,
}

/// A line was longer than the limit. Its bytes are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line is longer than {limit} bytes: send shorter ones, or raise max_line_bytes")]
pub struct TooLong {
    /// The limit in bytes, the end of a line not counted.
    pub limit: usize,
}

impl Lines {
    /// For lines of at most `limit` bytes, their ends not counted.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            seen: 0,
            limit,
            skipping: false,
            read: *READ.start(),
            settled: 0,
        }
    }

    /// Where to append what is read next, with room for 1 KiB to 64 KiB or more, as much as reads have brought lately. To
    /// be called before each read, once [`next`](Self::next) has given all lines.
    ///
    /// Who waits for the socket to be readable before calling this holds no memory meanwhile.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.settle();
        let held = self.buffer.len();
        if self.buffer.capacity() - held < self.read / 2 {
            // Doubling keeps the copying of a long line linear, as far as the limit allows.
            let most = self.limit.saturating_add(self.read);
            let doubled = held.min(most.saturating_sub(held));
            self.buffer.reserve_exact(self.read.max(doubled));
        }
        &mut self.buffer
    }

    /// The next line without its end, if it has come whole.
    #[expect(clippy::should_implement_trait, reason = "the line borrows from this")]
    pub fn next(&mut self) -> Option<Result<&[u8], TooLong>> {
        let too_long = TooLong { limit: self.limit };
        let line = loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.seen..]) else {
                let begun = without_return(&self.buffer[self.start..]).len();
                let reported = self.skipping;
                self.skipping |= begun > self.limit;
                self.seen = self.buffer.len();
                if self.skipping {
                    self.start = self.seen;
                }
                self.settle();
                return (self.skipping && !reported).then_some(Err(too_long));
            };
            let end = self.seen + at;
            let start = self.start;
            self.seen = end + 1;
            self.start = self.seen;
            let length = without_return(&self.buffer[start..end]).len();
            if !std::mem::take(&mut self.skipping) && length > 0 {
                break start..start + length;
            }
        };
        if line.len() > self.limit {
            return Some(Err(too_long));
        }
        Some(Ok(&self.buffer[line]))
    }

    /// Returns how much memory the unfinished line takes; 0 if no line is begun.
    #[must_use]
    pub const fn unfinished(&self) -> usize {
        match self.buffer.is_empty() {
            true => 0,
            false => self.buffer.capacity(),
        }
    }

    /// Lets go of what has been taken out.
    fn settle(&mut self) {
        let got = self.buffer.len() - self.settled;
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
        self.seen -= self.start;
        self.start = 0;
        self.settled = self.buffer.len();
        if self.buffer.capacity() > 4 * (self.settled + READ.start()) {
            self.buffer.shrink_to_fit();
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests;
