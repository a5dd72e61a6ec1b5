//! Reports the exit of threads and tasks of a node.

use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A thread or task has ended.
#[derive(Debug)]
pub(super) struct TaskExit {
    pub(super) name: String,
    pub(super) has_panicked: bool,
}

/// Held by a thread or task; reports its exit when it is dropped.
#[derive(Debug)]
pub(super) struct TaskExitGuard {
    name: String,
    exits: UnboundedSender<TaskExit>,
}

impl TaskExitGuard {
    pub(super) const fn new(name: String, exits: UnboundedSender<TaskExit>) -> Self {
        Self { name, exits }
    }
}

impl Drop for TaskExitGuard {
    fn drop(&mut self) {
        let _ = self.exits.send(TaskExit {
            name: std::mem::take(&mut self.name),
            has_panicked: thread::panicking(),
        });
    }
}

pub(super) fn channel() -> (UnboundedSender<TaskExit>, UnboundedReceiver<TaskExit>) {
    unbounded_channel()
}
