/// The lines to write on one connection, numbered as the server counts them.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// How many of `bytes` are written.
    written: usize,
    /// The number of lines on this connection so far, those that opened it included.
    lines: u64,
}

impl Output {
    /// Starts a connection that has sent this many lines.
    pub(super) fn opened(lines: u64) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Appends a line, its end included, and returns its number on the connection.
    pub(super) fn push(&mut self, line: &[u8]) -> u64 {
        self.bytes.extend_from_slice(line);
        self.lines += 1;
        self.lines
    }

    pub(super) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Removes bytes that the socket has taken.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.unwritten().is_empty() {
            self.bytes.clear();
            self.written = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    #[test]
    fn lines_are_numbered_after_the_hello() {
        let mut output = Output::opened(1);
        assert_eq!(output.push(b"one\n"), 2);
        assert_eq!(output.push(b"two\n"), 3);
        output.wrote(4);
        assert_eq!(output.unwritten(), b"two\n");
        output.wrote(4);
        assert_eq!(output.push(b"three\n"), 4);
        assert_eq!(output.unwritten(), b"three\n");
    }
}
