//! Collects events with their times, one per line.

use std::{
    cell::RefCell,
    fmt::{Display, Write as _},
    mem,
    net::SocketAddr,
    time::Instant,
};

pub(crate) struct Log {
    began: Instant,
    lines: RefCell<String>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            lines: RefCell::default(),
        }
    }

    pub(crate) fn note(&self, address: SocketAddr, what: impl Display) {
        let millis = self.began.elapsed().as_millis();
        let mut lines = self.lines.borrow_mut();
        writeln!(lines, "{millis:5} ms  {address} {what}")
            .expect("writing to a string does not fail");
    }

    /// Returns the lines since the previous call.
    pub(crate) fn take(&self) -> String {
        mem::take(&mut self.lines.borrow_mut())
    }
}
