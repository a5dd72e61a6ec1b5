use std::collections::BTreeSet;

pub(super) use hyper_delay_fjall::files::FileFault;
use hyper_delay_store::Space;

/// The faults of a store, each once, even if a file is read again.
#[derive(Debug, Default)]
pub(super) struct FileFaults {
    faults: BTreeSet<FileFault>,
    /// The unreadable end of the newest journal.
    tail: BTreeSet<FileFault>,
}

impl FileFaults {
    pub(super) fn add(&mut self, fault: FileFault) {
        self.faults.insert(fault);
    }

    /// Adds the unreadable end of the newest journal.
    pub(super) fn add_tail(&mut self, fault: FileFault) {
        self.tail.insert(fault);
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        let all: BTreeSet<FileFault> = self.faults.into_iter().chain(self.tail).collect();
        all.iter().map(ToString::to_string).collect()
    }

    /// Takes out the unreadable end of the newest journal.
    pub(super) fn take_tail(&mut self) -> Vec<String> {
        let tail = std::mem::take(&mut self.tail);
        tail.iter().map(ToString::to_string).collect()
    }

    /// Adds the faults of a space.
    pub(super) fn add_in_space(&mut self, faults: Self, space: Space) {
        let of_space = |fault: FileFault| fault.in_space(space);
        self.faults.extend(faults.faults.into_iter().map(of_space));
        self.tail.extend(faults.tail.into_iter().map(of_space));
    }
}
