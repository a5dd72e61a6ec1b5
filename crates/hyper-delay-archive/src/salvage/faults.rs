use std::collections::BTreeSet;

pub(super) use hyper_delay_fjall::files::Fault;
use hyper_delay_store::Space;

/// The faults of a store, each once, even if a file is read again.
#[derive(Debug, Default)]
pub(super) struct Faults {
    faults: BTreeSet<Fault>,
    /// The unreadable end of the newest journal.
    tail: BTreeSet<Fault>,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.insert(fault);
    }

    /// Adds the unreadable end of the newest journal.
    pub(super) fn add_tail(&mut self, fault: Fault) {
        self.tail.insert(fault);
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        let all: BTreeSet<Fault> = self.faults.into_iter().chain(self.tail).collect();
        all.iter().map(ToString::to_string).collect()
    }

    /// Takes out the unreadable end of the newest journal.
    pub(super) fn take_tail(&mut self) -> Vec<String> {
        let tail = std::mem::take(&mut self.tail);
        tail.iter().map(ToString::to_string).collect()
    }

    /// Adds the faults of a space.
    pub(super) fn add_all(&mut self, faults: Self, space: Space) {
        let of_space = |fault: Fault| fault.of(space);
        self.faults.extend(faults.faults.into_iter().map(of_space));
        self.tail.extend(faults.tail.into_iter().map(of_space));
    }
}
