use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use race_wheel::Key;

use crate::protocol::Named;

/// How many deliveries that a connection left unanswered are remembered, in case the answer comes late.
const LATE: usize = 1024;

/// A connection, as the scheduler sees it.
#[derive(Debug)]
pub(super) struct Consumer {
    /// What it has registered.
    pub(super) routes: BTreeSet<Arc<str>>,
    /// The route it was given because it named none.
    pub(super) own_route: Option<Arc<str>>,
    /// How many copies it may have in flight.
    pub(super) credit: u16,
    /// What it has in flight: one copy of an id at a time, so that an answer that names the id alone is exact.
    in_flight: HashMap<Arc<str>, Copy>,
    /// Copies of tasks that somebody else has done: they take no credit, and an answer is ignored. Until it comes, or
    /// is overdue, no other copy of the id does.
    lost: HashMap<Arc<str>, Copy>,
    /// What it left unanswered, oldest first.
    late: VecDeque<(Arc<str>, Copy)>,
    /// The routes that have something for it, in the order in which they are served when it has room.
    waiting: VecDeque<Arc<str>>,
    waits: HashSet<Arc<str>>,
}

/// A copy of a task that a connection was given.
#[derive(Debug, Clone)]
pub(super) struct Copy {
    pub(super) route: Arc<str>,
    pub(super) seq: u64,
    pub(super) attempt: u32,
    /// When its answer is overdue.
    pub(super) timer: Option<Key>,
}

impl Copy {
    fn is(&self, named: &Named) -> bool {
        named
            .route
            .as_ref()
            .is_none_or(|route| *route == self.route)
            && named.attempt.is_none_or(|attempt| attempt == self.attempt)
    }
}

impl Consumer {
    pub(super) fn new(credit: u16) -> Self {
        Self {
            routes: BTreeSet::new(),
            own_route: None,
            credit,
            in_flight: HashMap::new(),
            lost: HashMap::new(),
            late: VecDeque::new(),
            waiting: VecDeque::new(),
            waits: HashSet::new(),
        }
    }

    /// A route has something for it, and it has no room.
    pub(super) fn wait_for_room(&mut self, route: &Arc<str>) {
        if !self.waits.contains(route) {
            self.waits.insert(route.clone());
            self.waiting.push_back(route.clone());
        }
    }

    /// How many routes wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next route that waits, if it has room for something of it.
    pub(super) fn next_waiting(&mut self) -> Option<Arc<str>> {
        if !self.has_room() {
            return None;
        }
        let route = self.waiting.pop_front()?;
        self.waits.remove(&route);
        Some(route)
    }

    /// The latest round of which it left a copy unanswered, of whatever revision.
    pub(super) fn late_attempt(&self, route: &str, id: &str) -> Option<u32> {
        let late = self
            .late
            .iter()
            .filter(|(late, copy)| **late == *id && *copy.route == *route);
        late.map(|(_, copy)| copy.attempt).max()
    }

    /// Returns whether it has registered nothing, and has no copy that it could answer in time.
    pub(super) fn is_idle(&self) -> bool {
        self.routes.is_empty() && self.in_flight.is_empty() && self.lost.is_empty()
    }

    pub(super) fn load(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() < usize::from(self.credit)
    }

    /// Whether it has a copy of a task with that id, whatever its route.
    pub(super) fn holds(&self, id: &str) -> bool {
        self.in_flight.contains_key(id) || self.lost.contains_key(id)
    }

    pub(super) fn give(&mut self, id: Arc<str>, copy: Copy) {
        let before = self.in_flight.insert(id, copy);
        debug_assert!(before.is_none(), "one copy of an id at a time");
    }

    /// The copy in flight that an answer names; it is no longer in flight.
    pub(super) fn answered(&mut self, named: &Named) -> Option<Copy> {
        self.in_flight
            .get(&named.id)
            .filter(|copy| copy.is(named))?;
        self.in_flight.remove(&named.id)
    }

    /// The copy that was left unanswered and that a late answer names.
    pub(super) fn answered_late(&mut self, named: &Named) -> Option<Copy> {
        let place = self
            .late
            .iter()
            .rposition(|(id, copy)| *id == named.id && copy.is(named))?;
        self.late.remove(place).map(|(_, copy)| copy)
    }

    /// Takes back a copy of a revision that was not sent.
    pub(super) fn unsent(&mut self, id: &str, seq: u64) -> Option<Copy> {
        let copies = [&mut self.in_flight, &mut self.lost];
        copies.into_iter().find_map(|copies| {
            copies.get(id).filter(|copy| copy.seq == seq)?;
            copies.remove(id)
        })
    }

    /// Somebody else has done it: its credit returns. Tells whether it had a copy.
    pub(super) fn lose(&mut self, id: &str, seq: u64) -> bool {
        let copy = self.in_flight.get(id).filter(|copy| copy.seq == seq);
        if copy.is_some()
            && let Some((id, copy)) = self.in_flight.remove_entry(id)
        {
            self.lost.insert(id, copy);
            return true;
        }
        false
    }

    /// The copy that somebody else has done, and that an answer names.
    pub(super) fn answered_lost(&mut self, named: &Named) -> Option<Copy> {
        self.lost.get(&named.id).filter(|copy| copy.is(named))?;
        self.lost.remove(&named.id)
    }

    /// Forgets a copy that somebody else has done.
    pub(super) fn forget(&mut self, id: &str) -> bool {
        self.lost.remove(id).is_some()
    }

    /// The time for an answer is up: from now on it is late.
    pub(super) fn overdue(&mut self, id: &str) -> Option<Copy> {
        let (id, copy) = self.in_flight.remove_entry(id)?;
        if self.late.len() == LATE {
            self.late.pop_front();
        }
        let copy = Copy {
            timer: None,
            ..copy
        };
        self.late.push_back((id, copy.clone()));
        Some(copy)
    }

    /// What it has in flight.
    pub(super) fn copies(&self) -> impl Iterator<Item = &Copy> {
        self.in_flight.values()
    }

    /// All that it could have answered, when it is gone.
    pub(super) fn into_copies(self) -> impl Iterator<Item = (Arc<str>, Copy)> {
        self.in_flight.into_iter().chain(self.lost)
    }
}
