use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The number of copies that are remembered for a connection with a lower credit.
const LEAST: usize = 1024;

/// The copies that a connection left unanswered, in the order in which their time to answer passed.
///
/// Their number is limited to the highest credit of the connection, so that a timeout of all its
/// copies forgets none of them.
#[derive(Debug)]
pub(crate) struct LateCopies<T> {
    limit: usize,
    /// Each copy that is added has the next number.
    by_number: BTreeMap<u64, (Arc<str>, T)>,
    /// The numbers of the copies of each id, in ascending order.
    numbers: HashMap<Arc<str>, Vec<u64>>,
    next: u64,
}

impl<T> LateCopies<T> {
    /// Keeps the late copies of a connection with this credit.
    #[must_use]
    pub(crate) fn new(credit: u16) -> Self {
        Self {
            limit: LEAST.max(usize::from(credit)),
            by_number: BTreeMap::new(),
            numbers: HashMap::new(),
            next: 0,
        }
    }

    /// Raises the limit to a credit. A lower credit changes nothing: copies of the time of the
    /// higher one can still be in flight.
    pub(crate) fn raise_limit(&mut self, credit: u16) {
        self.limit = self.limit.max(usize::from(credit));
    }

    /// The number of copies that are remembered.
    #[must_use]
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Adds a copy. Returns the oldest copy if that is forgotten for it.
    pub(crate) fn add(&mut self, id: Arc<str>, copy: T) -> Option<T> {
        let is_full = self.by_number.len() == self.limit;
        let oldest = self.by_number.first_key_value().map(|(number, _)| *number);
        let forgotten = oldest
            .filter(|_| is_full)
            .and_then(|oldest| self.remove(oldest));
        let number = self.next;
        self.next += 1;
        self.numbers.entry(id.clone()).or_default().push(number);
        self.by_number.insert(number, (id, copy));
        forgotten
    }

    /// Returns the copies of an id.
    pub(crate) fn copies_of(&self, id: &str) -> impl Iterator<Item = &T> {
        self.numbered(id).map(|(_, copy)| copy)
    }

    /// Removes and returns the latest copy of an id that `is` the one.
    pub(crate) fn take_latest(&mut self, id: &str, is: impl Fn(&T) -> bool) -> Option<T> {
        let (number, _) = self.numbered(id).rfind(|(_, copy)| is(copy))?;
        self.remove(number)
    }

    /// Returns all copies.
    pub(crate) fn into_copies(self) -> impl Iterator<Item = T> {
        self.by_number.into_values().map(|(_, copy)| copy)
    }

    fn numbered(&self, id: &str) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        let numbers = self.numbers.get(id).into_iter().flatten();
        numbers.filter_map(|number| Some((*number, &self.by_number.get(number)?.1)))
    }

    fn remove(&mut self, number: u64) -> Option<T> {
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

    fn add(late: &mut LateCopies<u32>, id: &str, attempt: u32) -> Option<u32> {
        late.add(id.into(), attempt)
    }

    fn answered(late: &mut LateCopies<u32>, id: &str, named: Option<u32>) -> Option<u32> {
        late.take_latest(id, |attempt| named.is_none_or(|named| named == *attempt))
    }

    #[test]
    fn an_answer_takes_the_latest_copy_that_it_names_once() {
        let mut late = LateCopies::new(1);
        for attempt in 1..=3 {
            assert_eq!(add(&mut late, "id", attempt), None);
        }
        assert_eq!(late.copies_of("id").max(), Some(&3));
        assert_eq!(answered(&mut late, "id", None), Some(3));
        assert_eq!(late.copies_of("id").max(), Some(&2));
        assert_eq!(answered(&mut late, "id", Some(1)), Some(1));
        assert_eq!(answered(&mut late, "id", Some(1)), None);
        assert_eq!(answered(&mut late, "other", None), None);
        assert_eq!(late.into_copies().collect::<Vec<_>>(), [2]);
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
