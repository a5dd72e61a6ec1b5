//! The numbers of revisions, of bulk operations and of lines of the audit.
//!
//! The high bits of a number are its shard, so that numbers of different shards differ. A server
//! without a cluster is shard 0.

/// Bits of a number below its shard.
const BITS: u32 = 48;

/// Maximum number of shards of a cluster. The numbers of this many are below 2^53, so they are exact
/// in every language.
pub const MAX_SHARDS: u16 = 1 << (53 - BITS);

/// Returns the first number of a shard.
#[must_use]
pub const fn first_of(shard: u16) -> u64 {
    ((shard as u64) << BITS) + 1
}

/// Returns the shard of a number.
#[must_use]
pub const fn shard_of(number: u64) -> u16 {
    (number >> BITS) as u16
}

/// Returns the slot of a number in the ring of its shard, which has `slots` slots: the number
/// replaces the one that is `slots` smaller.
#[must_use]
pub(super) const fn ring_slot_of(number: u64, slots: u64) -> u64 {
    let within = number & ((1 << BITS) - 1);
    number - within + within % slots
}

/// Sorts numbered items of several shards by time. The items of one shard stay in the order of their
/// numbers: its clock can have been set back.
pub fn sort_by_time<T>(items: &mut Vec<T>, of: impl Fn(&T) -> (u64, u64)) {
    items.sort_unstable_by_key(|item| of(item).0);
    let mut latest = (0, 0);
    let timed = items.drain(..).map(|item| {
        let (number, at) = of(&item);
        let shard = shard_of(number);
        latest = match latest {
            (last, before) if last == shard => (shard, at.max(before)),
            _ => (shard, at),
        };
        (latest.1, item)
    });
    let mut timed: Vec<_> = timed.collect();
    timed.sort_by_key(|(at, _)| *at);
    items.extend(timed.into_iter().map(|(_, item)| item));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_their_shard_and_are_exact_in_every_language() {
        assert_eq!((first_of(0), first_of(1)), (1, (1 << 48) + 1));
        for shard in 0..MAX_SHARDS {
            let last = first_of(shard + 1) - 2;
            assert_eq!((shard_of(first_of(shard)), shard_of(last)), (shard, shard));
            assert!(last < 1 << 53, "{last}");
        }
    }

    #[test]
    fn ring_slots_of_shards_differ() {
        assert_eq!(ring_slot_of(1, 1_000), 1);
        assert_eq!(ring_slot_of(1_000, 1_000), 0);
        assert_eq!(ring_slot_of(2_345, 1_000), 345);
        let first = first_of(3) - 1;
        assert_eq!(ring_slot_of(first + 2_345, 1_000), first + 345);
    }

    fn sorted(mut items: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        sort_by_time(&mut items, |item| *item);
        items
    }

    #[test]
    fn one_shard_is_in_the_order_of_its_numbers() {
        let items = vec![(3, 10), (1, 30), (2, 20), (4, 5)];
        assert_eq!(sorted(items), [(1, 30), (2, 20), (3, 10), (4, 5)]);
    }

    #[test]
    fn shards_are_in_the_order_of_time() {
        let second = first_of(1);
        let items = vec![(second + 1, 40), (1, 10), (2, 30), (3, 20), (second, 20)];
        let expected = [(1, 10), (second, 20), (2, 30), (3, 20), (second + 1, 40)];
        assert_eq!(sorted(items), expected);
    }
}
