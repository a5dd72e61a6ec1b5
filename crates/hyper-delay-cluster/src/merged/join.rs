use hyper_delay_engine::ledger::DedupeWindow;
use hyper_delay_store::{
    Bytes, Space, StoreError,
    record::{self, StoredCounts, key},
};

/// Joins the rows of some of `shards` under one key. `None` if nothing is left.
///
/// # Errors
///
/// If a row cannot be decoded.
pub(super) fn join(
    space: Space,
    key: &[u8],
    mut values: Vec<Bytes>,
    shards: usize,
) -> Result<Option<Bytes>, StoreError> {
    match (space, key) {
        (Space::Counts, _) if values.len() > 1 => sum(&values).map(Some),
        (Space::Meta, key::RETRYING_COUNTS) if values.len() > 1 => {
            let numbers = values.iter().map(|value| record::decode::<u64>(value));
            let sum: u64 = numbers.sum::<Result<_, _>>()?;
            Ok(Some(record::encode(&sum)))
        }
        (Space::Meta, key::NUMBERS) => Ok(by_number(values)?.pop()),
        // A shard without a mark has no tasks before the start of time.
        (Space::Meta, key::LOW_WATER) if values.len() < shards => Ok(None),
        (Space::Meta, key::LOW_WATER) => Ok(by_number(values)?.into_iter().next()),
        // Generations of shards have different ages, and their names are mixed.
        (Space::Meta, key::DEDUPE_WINDOW) if shards > 1 && !values.is_empty() => {
            Ok(Some(DedupeWindow::of_unknown_age(false)))
        }
        // How far a replica is, and what its last leadership has passed on, says nothing of the
        // others.
        (Space::Meta, key::APPLIED | key::SYNCED | key::HANDED_OVER) => Ok(None),
        _ if values.is_empty() => Ok(None),
        _ => Ok(Some(values.swap_remove(0))),
    }
}

fn sum(values: &[Bytes]) -> Result<Bytes, StoreError> {
    let mut sum = StoredCounts::default();
    for value in values {
        sum.merge(&record::decode(value)?);
    }
    Ok(record::encode(&sum))
}

/// Returns the values in the order of the numbers that they are.
fn by_number(values: Vec<Bytes>) -> Result<Vec<Bytes>, StoreError> {
    let numbered = values.into_iter().map(|value| {
        let number: u64 = record::decode(&value)?;
        Ok((number, value))
    });
    let mut numbered = numbered.collect::<Result<Vec<_>, StoreError>>()?;
    numbered.sort_by_key(|(number, _)| *number);
    Ok(numbered.into_iter().map(|(_, value)| value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(key: &[u8], numbers: &[u64], shards: usize) -> Option<u64> {
        let values = numbers.iter().map(record::encode);
        let joined = join(Space::Meta, key, values.collect(), shards).unwrap();
        joined.map(|value| record::decode(&value).unwrap())
    }

    #[test]
    fn the_next_number_is_beyond_those_of_all_shards() {
        assert_eq!(meta(key::NUMBERS, &[3, 1 << 48, 7], 3), Some(1 << 48));
        assert_eq!(meta(key::NUMBERS, &[7], 3), Some(7));
        assert_eq!(meta(key::NUMBERS, &[], 3), None);
    }

    #[test]
    fn retrying_tasks_are_added_up() {
        assert_eq!(meta(key::RETRYING_COUNTS, &[3, 4], 3), Some(7));
        assert_eq!(meta(key::RETRYING_COUNTS, &[3], 3), Some(3));
        assert_eq!(meta(key::RETRYING_COUNTS, &[], 3), None);
    }

    #[test]
    fn the_low_water_mark_is_the_lowest_if_all_shards_have_one() {
        assert_eq!(meta(key::LOW_WATER, &[3, 2, 7], 3), Some(2));
        assert_eq!(meta(key::LOW_WATER, &[3, 7], 3), None);
    }

    #[test]
    fn how_far_replicas_are_is_not_shown() {
        for key in [key::APPLIED, key::SYNCED, key::HANDED_OVER] {
            assert_eq!(meta(key, &[3], 1), None);
        }
    }

    #[test]
    fn counts_are_added_up() {
        let counts = |waiting, dead| StoredCounts {
            waiting,
            parked: 10 * waiting,
            dead,
            bytes: 100,
        };
        let values = [counts(1, 2), counts(3, 4)].map(|counts| record::encode(&counts));
        let joined = join(Space::Counts, &key::route(""), values.into(), 2).unwrap();
        let joined: StoredCounts = record::decode(&joined.unwrap()).unwrap();
        assert_eq!((joined.tasks(), joined.bytes), ([4, 40, 6], 200));
    }

    #[test]
    fn the_window_of_one_shard_stays_as_it_is() {
        let value = Bytes::from(*b"as it is");
        for (shards, is_same) in [(1, true), (2, false)] {
            let values = vec![value.clone()];
            let joined = join(Space::Meta, key::DEDUPE_WINDOW, values, shards).unwrap();
            assert_eq!(joined == Some(value.clone()), is_same);
        }
    }
}
