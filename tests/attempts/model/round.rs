use std::{collections::BTreeSet, task::Waker};

/// The futures that are still to be polled in a round.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) due: BTreeSet<usize>,
    /// Wakers of futures that are gone, which were woken before the round.
    pub(crate) stale: Vec<Waker>,
    /// The first id that was not in use when the round began.
    pub(crate) until: usize,
    /// Whether near futures must be polled first, in push order.
    pub(crate) is_ordered: bool,
    last: Option<usize>,
    is_beyond: bool,
}

impl Round {
    /// Returns whether a future may be polled: it is due, or a stale waker of its slot was woken.
    pub(crate) fn takes(&self, id: usize, waker: &Waker) -> bool {
        let stale = || self.stale.iter().any(|stale| stale.will_wake(waker));
        self.due.contains(&id) || (id < self.until && stale())
    }

    /// Records the poll of a future, which consumes all wakes of its waker.
    pub(crate) fn visit(&mut self, id: usize, waker: &Waker, is_near: bool) {
        assert!(
            self.takes(id, waker),
            "#{id} was polled without being woken"
        );
        if is_near && self.is_ordered {
            let in_order = !self.is_beyond && self.last < Some(id);
            assert!(
                in_order,
                "#{id} after {:?} and beyond: {}",
                self.last, self.is_beyond
            );
            self.last = Some(id);
        }
        self.is_beyond = !is_near;
        self.due.remove(&id);
        self.stale.retain(|stale| !stale.will_wake(waker));
    }
}
