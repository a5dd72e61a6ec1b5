use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::consumer::Copy;
use crate::protocol::Named;

/// The number of copies that are remembered for a connection with a lower credit.
const LEAST: usize = 1024;

/// The copies that a connection left unanswered, in the order in which their time to answer passed.
///
/// Their number is limited to the highest credit of the connection, so that a timeout of all its
/// copies forgets none of them.
#[derive(Debug)]
pub(super) struct LateCopies {
    limit: usize,
    /// Each copy that is added has the next number.
    by_number: BTreeMap<u64, (Arc<str>, Copy)>,
    /// The numbers of the copies of each id, in ascending order.
    numbers: HashMap<Arc<str>, Vec<u64>>,
    next: u64,
}

impl LateCopies {
    pub(super) fn new(credit: u16) -> Self {
        Self {
            limit: LEAST.max(usize::from(credit)),
            by_number: BTreeMap::new(),
            numbers: HashMap::new(),
            next: 0,
        }
    }

    /// Raises the limit to a credit. A lower credit changes nothing: copies of the time of the
    /// higher one can still be in flight.
    pub(super) fn raise_limit(&mut self, credit: u16) {
        self.limit = self.limit.max(usize::from(credit));
    }

    /// Adds a copy. Returns the revision of the oldest copy if that is forgotten for it.
    pub(super) fn add(&mut self, id: Arc<str>, copy: Copy) -> Option<u64> {
        let is_full = self.by_number.len() == self.limit;
        let oldest = self.by_number.first_key_value().map(|(number, _)| *number);
        let forgotten = oldest
            .filter(|_| is_full)
            .and_then(|oldest| self.remove(oldest));
        let number = self.next;
        self.next += 1;
        self.numbers.entry(id.clone()).or_default().push(number);
        self.by_number.insert(number, (id, copy));
        forgotten.map(|copy| copy.seq)
    }

    /// Returns the latest round of a task among the copies, over all revisions.
    pub(super) fn latest_attempt(&self, route: &str, id: &str) -> Option<u32> {
        let copies = self.of(id).map(|(_, copy)| copy);
        let of_route = copies.filter(|copy| *copy.route == *route);
        of_route.map(|copy| copy.attempt).max()
    }

    /// Removes and returns the latest copy that an answer names.
    pub(super) fn answered(&mut self, named: &Named) -> Option<Copy> {
        let (number, _) = self.of(&named.id).rfind(|(_, copy)| copy.is(named))?;
        self.remove(number)
    }

    /// Removes and returns this copy.
    pub(super) fn take(&mut self, id: &str, this: &Copy) -> Option<Copy> {
        let (number, _) = self.of(id).rfind(|(_, copy)| copy.is_same(this))?;
        self.remove(number)
    }

    /// Returns the revisions of the copies.
    pub(super) fn into_revisions(self) -> impl Iterator<Item = u64> {
        self.by_number.into_values().map(|(_, copy)| copy.seq)
    }

    fn of(&self, id: &str) -> impl DoubleEndedIterator<Item = (u64, &Copy)> {
        let numbers = self.numbers.get(id).into_iter().flatten();
        numbers.filter_map(|number| Some((*number, &self.by_number.get(number)?.1)))
    }

    fn remove(&mut self, number: u64) -> Option<Copy> {
        let (id, copy) = self.by_number.remove(&number)?;
        if let Some(numbers) = self.numbers.get_mut(&id) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.numbers.remove(&id);
            }
        }
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(late: &mut LateCopies, id: &str, attempt: u32) -> Option<u64> {
        let copy = Copy {
            route: "route".into(),
            seq: u64::from(attempt),
            attempt,
            end: None,
        };
        late.add(id.into(), copy)
    }

    fn answered(late: &mut LateCopies, id: &str, attempt: Option<u32>) -> Option<u32> {
        let id = id.into();
        let route = None;
        let named = Named { id, route, attempt };
        late.answered(&named).map(|copy| copy.attempt)
    }

    #[test]
    fn an_answer_takes_the_latest_copy_that_it_names_once() {
        let mut late = LateCopies::new(1);
        for attempt in 1..=3 {
            assert_eq!(add(&mut late, "id", attempt), None);
        }
        assert_eq!(late.latest_attempt("route", "id"), Some(3));
        assert_eq!(answered(&mut late, "id", None), Some(3));
        assert_eq!(late.latest_attempt("route", "id"), Some(2));
        assert_eq!(answered(&mut late, "id", Some(1)), Some(1));
        assert_eq!(answered(&mut late, "id", Some(1)), None);
        assert_eq!(answered(&mut late, "other", None), None);
        assert_eq!(late.latest_attempt("other", "id"), None);
        assert_eq!(late.into_revisions().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn only_as_many_as_the_highest_credit_are_remembered() {
        for credits in [[1, 1], [3000, 1], [1, 3000]] {
            let mut late = LateCopies::new(credits[0]);
            late.raise_limit(credits[1]);
            let most = if credits == [1, 1] { 1024 } else { 3000 };
            for attempt in 0..most {
                assert_eq!(add(&mut late, &attempt.to_string(), attempt), None);
            }
            assert_eq!(add(&mut late, "another", most), Some(0), "{credits:?}");
            assert_eq!(answered(&mut late, "0", None), None);
            assert_eq!(answered(&mut late, "1", None), Some(1));
        }
    }
}
