//! The lines that wait to be written.

use std::{
    collections::VecDeque,
    iter, mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper_delay_engine::dropped_log_lines::{self, LogLineKind};

/// The most bytes that wait.
const MAX_BYTES: usize = 1 << 20;

/// The most bytes in addition, for lines of the audit and of errors.
const MAX_MORE_BYTES: usize = 256 << 10;

/// A line with its end, `\n`.
#[derive(Debug)]
pub(super) struct LogLine {
    kind: LogLineKind,
    pub(super) text: Vec<u8>,
    /// The lines that were left out before it.
    pub(super) left_out: u64,
}

impl LogLine {
    pub(super) const fn new(kind: LogLineKind, text: Vec<u8>) -> Self {
        Self {
            kind,
            text,
            left_out: 0,
        }
    }
}

/// Lines on their way from any thread to the one that writes them. Putting one in never waits for
/// that one: a line for which there is no room is left out, and counted.
#[derive(Debug)]
pub(super) struct LogBuffer {
    state: Mutex<BufferState>,
    put: Condvar,
    emptied: Condvar,
}

#[derive(Debug)]
struct BufferState {
    lines: VecDeque<LogLine>,
    /// The bytes of `lines` and of the line that is being written.
    bytes: usize,
    /// Whether a line is being written.
    is_writing: bool,
    /// The lines that were left out since one was put in.
    left_out: u64,
    /// The lines whose writes have failed since one was written, and those that were left out
    /// before them.
    failed: u64,
}

impl LogBuffer {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(BufferState {
                lines: VecDeque::new(),
                bytes: 0,
                is_writing: false,
                left_out: 0,
                failed: 0,
            }),
            put: Condvar::new(),
            emptied: Condvar::new(),
        }
    }

    /// Puts a line in, or counts it as left out.
    pub(super) fn put(&self, mut line: LogLine) {
        let most = match line.kind {
            LogLineKind::Audit | LogLineKind::Error => MAX_BYTES + MAX_MORE_BYTES,
            LogLineKind::Other => MAX_BYTES,
        };
        let mut state = self.state();
        if state.bytes + line.text.len() > most {
            state.left_out += 1;
            dropped_log_lines::count(line.kind);
            return;
        }
        line.left_out = mem::take(&mut state.left_out);
        state.bytes += line.text.len();
        state.lines.push_back(line);
        drop(state);
        self.put.notify_one();
    }

    /// Waits for a line. To be followed by [`Self::done`].
    pub(super) fn next(&self) -> LogLine {
        let mut state = self.state();
        loop {
            if let Some(line) = state.pop() {
                state.is_writing = true;
                return line;
            }
            let waited = self.put.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The line was written, with the number of those that were left out; or it was not.
    pub(super) fn done(&self, line: &LogLine, is_written: bool) {
        let mut state = self.state();
        state.bytes -= line.text.len();
        state.is_writing = false;
        if !is_written {
            state.failed += 1 + line.left_out;
            dropped_log_lines::count(line.kind);
        }
        if state.is_empty() {
            self.emptied.notify_all();
        }
    }

    /// Waits until every line is written or left out. Returns whether that is so: it waits no
    /// longer than `patience`.
    pub(super) fn wait_until_empty(&self, patience: Duration) -> bool {
        let waited = self
            .emptied
            .wait_timeout_while(self.state(), patience, |state| !state.is_empty());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_empty()
    }

    /// Takes the lines that wait, for a process that ends and has no thread to write them.
    pub(super) fn drain(&self) -> Vec<LogLine> {
        let mut state = self.state();
        state.bytes = 0;
        iter::from_fn(|| state.pop()).collect()
    }

    fn state(&self) -> MutexGuard<'_, BufferState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BufferState {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.is_writing
    }

    fn pop(&mut self) -> Option<LogLine> {
        let mut line = self.lines.pop_front()?;
        line.left_out += mem::take(&mut self.failed);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: LogLineKind, bytes: usize) -> LogLine {
        LogLine::new(kind, vec![b'x'; bytes])
    }

    fn count(kind: LogLineKind) -> u64 {
        dropped_log_lines::counts()[kind as usize].1
    }

    #[test]
    fn a_full_buffer_takes_errors_and_the_audit_for_a_while_longer() {
        let buffer = LogBuffer::new();
        let lost = LogLineKind::ALL.map(count);
        for _ in 0..1_025 {
            buffer.put(line(LogLineKind::Other, 1 << 10));
        }
        for _ in 0..129 {
            buffer.put(line(LogLineKind::Error, 1 << 10));
            buffer.put(line(LogLineKind::Audit, 1 << 10));
        }
        assert_eq!(buffer.state().bytes, MAX_BYTES + MAX_MORE_BYTES);
        // The first error has the one before it.
        assert_eq!(buffer.state().left_out, 2);
        for (kind, before) in LogLineKind::ALL.into_iter().zip(lost) {
            assert!(count(kind) > before, "{kind:?}");
        }
    }

    /// The size of the next line, and how many were left out before it.
    fn next(buffer: &LogBuffer, is_written: bool) -> (usize, u64) {
        let line = buffer.next();
        buffer.done(&line, is_written);
        (line.text.len(), line.left_out)
    }

    #[test]
    fn left_out_lines_are_told_in_the_line_after_them_that_gets_through() {
        let buffer = LogBuffer::new();
        buffer.put(line(LogLineKind::Other, 1));
        buffer.put(line(LogLineKind::Other, 2));
        for _ in 0..3 {
            buffer.put(line(LogLineKind::Other, MAX_BYTES));
        }
        buffer.put(line(LogLineKind::Other, 3));
        buffer.put(line(LogLineKind::Other, 4));
        assert_eq!(next(&buffer, true), (1, 0));
        assert_eq!(next(&buffer, false), (2, 0));
        assert_eq!(next(&buffer, false), (3, 1 + 3));
        assert_eq!(next(&buffer, true), (4, 1 + 1 + 3));
        buffer.put(line(LogLineKind::Other, 5));
        assert_eq!(next(&buffer, true), (5, 0));
    }

    #[test]
    fn a_process_without_a_thread_takes_what_waits() {
        let buffer = LogBuffer::new();
        buffer.put(line(LogLineKind::Other, MAX_BYTES));
        buffer.put(line(LogLineKind::Other, 1));
        buffer.put(line(LogLineKind::Error, 2));
        let lines = buffer.drain().into_iter();
        let lines: Vec<_> = lines.map(|line| (line.text.len(), line.left_out)).collect();
        assert_eq!(lines, [(MAX_BYTES, 0), (2, 1)]);
        assert!(buffer.wait_until_empty(Duration::ZERO));
        buffer.put(line(LogLineKind::Other, MAX_BYTES));
        assert_eq!(next(&buffer, true), (MAX_BYTES, 0));
    }

    #[test]
    fn it_is_empty_when_the_last_line_is_written() {
        let buffer = LogBuffer::new();
        assert!(buffer.wait_until_empty(Duration::ZERO));
        buffer.put(line(LogLineKind::Other, 1));
        assert!(!buffer.wait_until_empty(Duration::ZERO));
        let line = buffer.next();
        assert!(!buffer.wait_until_empty(Duration::from_millis(1)));
        buffer.done(&line, true);
        assert!(buffer.wait_until_empty(Duration::ZERO));
    }
}
