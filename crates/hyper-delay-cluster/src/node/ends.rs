//! How the threads and tasks of a node end.

use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A thread or task has ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) name: String,
    pub(super) has_panicked: bool,
}

/// Is held by a thread or task, and reports its end.
#[derive(Debug)]
pub(super) struct Running {
    name: String,
    ends: UnboundedSender<End>,
}

impl Running {
    pub(super) const fn new(name: String, ends: UnboundedSender<End>) -> Self {
        Self { name, ends }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.ends.send(End {
            name: std::mem::take(&mut self.name),
            has_panicked: thread::panicking(),
        });
    }
}

pub(super) fn channel() -> (UnboundedSender<End>, UnboundedReceiver<End>) {
    unbounded_channel()
}
