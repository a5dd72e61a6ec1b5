use std::{collections::BTreeSet, task::Waker};

/// Who is still to be polled in a round.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) due: BTreeSet<usize>,
    /// Wakers of those who are gone, which were woken before.
    pub(crate) stale: Vec<Waker>,
    /// The first number that was not in use when it began.
    pub(crate) until: usize,
    /// Those who are near come in the order of pushing, and then the others.
    pub(crate) is_ordered: bool,
    last: Option<usize>,
    is_beyond: bool,
}

impl Round {
    /// Whether one may be polled: it is due, or somebody else woke the waker of its slot.
    pub(crate) fn takes(&self, id: usize, waker: &Waker) -> bool {
        let stale = || self.stale.iter().any(|stale| stale.will_wake(waker));
        self.due.contains(&id) || (id < self.until && stale())
    }

    /// One is polled: it had its turn, and whatever woke its waker before is spent.
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
