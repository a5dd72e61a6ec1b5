//! The lines that wait to be written.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::log_loss::{self, LineKind};

/// The most bytes that wait.
const MOST: usize = 1 << 20;

/// What lines of the audit and of errors may take in addition.
const MOST_MORE: usize = 256 << 10;

/// A line with its end, `\n`.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) kind: LineKind,
    pub(super) text: Vec<u8>,
}

/// Lines on their way from any thread to the one that writes them. Putting one in never waits for
/// that one: a line for which there is no room is left out, and counted.
#[derive(Debug)]
pub(super) struct Buffer {
    state: Mutex<State>,
    put: Condvar,
    emptied: Condvar,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<Line>,
    /// The bytes of `lines` and of the line that is being written.
    bytes: usize,
    /// Whether a line is being written.
    is_writing: bool,
    /// The lines that were left out since one got through.
    left_out: u64,
}

impl Buffer {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                lines: VecDeque::new(),
                bytes: 0,
                is_writing: false,
                left_out: 0,
            }),
            put: Condvar::new(),
            emptied: Condvar::new(),
        }
    }

    /// Puts a line in, or counts it as left out.
    pub(super) fn put(&self, line: Line) {
        let most = match line.kind {
            LineKind::Audit | LineKind::Error => MOST + MOST_MORE,
            LineKind::Other => MOST,
        };
        let mut state = self.state();
        if state.bytes + line.text.len() > most {
            state.leave_out(line.kind);
            return;
        }
        state.bytes += line.text.len();
        state.lines.push_back(line);
        drop(state);
        self.put.notify_one();
    }

    /// Waits for a line. Returns it with the number of lines that were left out before it. To be
    /// followed by [`Self::done`].
    pub(super) fn next(&self) -> (Line, u64) {
        let mut state = self.state();
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.is_writing = true;
                return (line, state.left_out);
            }
            let waited = self.put.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The line was written, together with the number that [`Self::next`] returned; or it was not.
    pub(super) fn done(&self, line: &Line, told: u64, is_written: bool) {
        let mut state = self.state();
        state.bytes -= line.text.len();
        state.is_writing = false;
        match is_written {
            true => state.left_out -= told,
            false => state.leave_out(line.kind),
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.is_writing
    }

    fn leave_out(&mut self, kind: LineKind) {
        self.left_out += 1;
        log_loss::count(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: LineKind, bytes: usize) -> Line {
        Line {
            kind,
            text: vec![b'x'; bytes],
        }
    }

    fn count(kind: LineKind) -> u64 {
        log_loss::counts()[kind as usize].1
    }

    #[test]
    fn a_full_buffer_takes_errors_and_the_audit_for_a_while_longer() {
        let buffer = Buffer::new();
        let lost = LineKind::ALL.map(count);
        for _ in 0..1_025 {
            buffer.put(line(LineKind::Other, 1 << 10));
        }
        for _ in 0..129 {
            buffer.put(line(LineKind::Error, 1 << 10));
            buffer.put(line(LineKind::Audit, 1 << 10));
        }
        assert_eq!(buffer.state().bytes, MOST + MOST_MORE);
        assert_eq!(buffer.state().left_out, 3);
        for (kind, before) in LineKind::ALL.into_iter().zip(lost) {
            assert!(count(kind) > before, "{kind:?}");
        }
    }

    #[test]
    fn left_out_lines_are_told_until_a_line_gets_through() {
        let buffer = Buffer::new();
        buffer.put(line(LineKind::Other, 1));
        buffer.put(line(LineKind::Other, MOST));
        buffer.put(line(LineKind::Other, 2));
        let (first, told) = buffer.next();
        assert_eq!((first.text.len(), told), (1, 1));
        buffer.done(&first, told, false);
        // One more while the second line is being written.
        let (second, told) = buffer.next();
        assert_eq!((second.text.len(), told), (2, 2));
        buffer.put(line(LineKind::Other, MOST));
        buffer.done(&second, told, true);
        buffer.put(line(LineKind::Other, 3));
        assert_eq!(buffer.next().1, 1);
    }

    #[test]
    fn it_is_empty_when_the_last_line_is_written() {
        let buffer = Buffer::new();
        assert!(buffer.wait_until_empty(Duration::ZERO));
        buffer.put(line(LineKind::Other, 1));
        assert!(!buffer.wait_until_empty(Duration::ZERO));
        let (line, told) = buffer.next();
        assert!(!buffer.wait_until_empty(Duration::from_millis(1)));
        buffer.done(&line, told, true);
        assert!(buffer.wait_until_empty(Duration::ZERO));
    }
}
