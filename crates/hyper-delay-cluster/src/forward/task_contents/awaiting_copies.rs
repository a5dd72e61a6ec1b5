//! Copies whose contents this node does not have yet.

use std::collections::BTreeMap;

use race_wheel::Tick;

use super::ReceivedCopy;
use crate::forward::wire::ForwardedCopy;
use hyper_delay_engine::scheduler::ConsumerId;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct AwaitingCopies {
    /// By the entry that they wait for, in the order of their arrival.
    by_place: BTreeMap<u64, Vec<AwaitingCopy>>,
}

/// A copy of a task that waits until this node has its content.
#[derive(Debug)]
pub(super) struct AwaitingCopy {
    pub(super) since: Tick,
    /// From then on it is not written.
    pub(super) write_by: Tick,
    pub(super) consumer: ConsumerId,
    pub(super) copy: ForwardedCopy,
}

impl AwaitingCopies {
    pub(super) fn push(&mut self, awaiting: AwaitingCopy) {
        let place = awaiting.copy.after;
        self.by_place.entry(place).or_default().push(awaiting);
    }

    /// Returns since when the copy waits that came first.
    pub(super) fn first_since(&self) -> Option<Tick> {
        let copies = self.by_place.values().flatten();
        copies.map(|awaiting| awaiting.since).min()
    }

    /// Returns when the first copy is not written any more.
    pub(super) fn first_write_by(&self) -> Option<Tick> {
        let copies = self.by_place.values().flatten();
        copies.map(|awaiting| awaiting.write_by).min()
    }

    /// Returns the last entry that a copy waits for.
    pub(super) fn last_place(&self) -> Option<u64> {
        self.by_place.last_key_value().map(|(place, _)| *place)
    }

    /// Removes and returns the copies that wait for an entry up to this one.
    pub(super) fn take_until(&mut self, place: u64) -> Vec<ReceivedCopy> {
        let later = match place.checked_add(1) {
            Some(next) => self.by_place.split_off(&next),
            None => BTreeMap::new(),
        };
        let taken = std::mem::replace(&mut self.by_place, later);
        let taken = taken.into_values().flatten();
        taken.map(AwaitingCopy::into_received).collect()
    }

    /// Removes and returns the copies of this kind.
    pub(super) fn take_if(&mut self, is_it: impl Fn(&AwaitingCopy) -> bool) -> Vec<ReceivedCopy> {
        let mut taken = Vec::new();
        for copies in self.by_place.values_mut() {
            let these = copies.extract_if(.., |awaiting| is_it(awaiting));
            taken.extend(these.map(AwaitingCopy::into_received));
        }
        self.by_place.retain(|_, copies| !copies.is_empty());
        taken
    }
}

impl AwaitingCopy {
    fn into_received(self) -> ReceivedCopy {
        (self.consumer, self.copy)
    }
}
