use crate::{Charter, ShardId, first_seq};

/// The numbers of tasks in their shards, in the order of their numbers in one store. Takes 16 bytes
/// for each task.
#[derive(Debug)]
pub(super) struct TaskNumbering {
    /// The number before, and the new one, in the order of those before.
    numbers: Vec<(u64, u64)>,
    /// For each shard, the next number.
    next: Vec<u64>,
}

impl TaskNumbering {
    /// Gives each task, of which the number and the shard are given, a number of its shard.
    pub(super) fn of(charter: Charter, tasks: impl IntoIterator<Item = (u64, ShardId)>) -> Self {
        let mut next: Vec<u64> = super::shards(charter).map(first_seq).collect();
        let tasks = tasks.into_iter();
        let mut numbers: Vec<(u64, u64)> =
            tasks.map(|(seq, shard)| (seq, shard.0.into())).collect();
        numbers.sort_unstable();
        for (_, number) in &mut numbers {
            let next = usize::try_from(*number)
                .ok()
                .and_then(|shard| next.get_mut(shard));
            let next = next.expect("a shard is one of the cluster");
            *number = *next;
            *next += 1;
        }
        Self { numbers, next }
    }

    /// Returns the new number of a task. `None`: there is no such task.
    pub(super) fn of_task(&self, seq: u64) -> Option<u64> {
        let at = self
            .numbers
            .binary_search_by_key(&seq, |(before, _)| *before);
        Some(self.numbers[at.ok()?].1)
    }

    /// Returns an unused number of a shard.
    pub(super) fn next(&mut self, shard: ShardId) -> u64 {
        let next = self.next.get_mut(usize::from(shard.0));
        let next = next.expect("a shard is one of the cluster");
        let number = *next;
        *next += 1;
        number
    }

    /// Returns the number that is given next in a shard. `None`: none was given there.
    pub(super) fn end(&self, shard: ShardId) -> Option<u64> {
        let end = self.next.get(usize::from(shard.0)).copied();
        end.filter(|end| *end > first_seq(shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_keep_their_order_in_their_shard() {
        let charter = Charter {
            cluster: 7,
            shards: 3,
        };
        let (one, two) = (ShardId(1), ShardId(2));
        let of = |shard, number| first_seq(shard) + number;
        // Numbers of a store that was restored from a cluster are not below 2^48.
        let high = of(ShardId(9), 0);
        let tasks = [(40, one), (7, two), (high, one), (5, one), (high + 1, two)];
        let mut numbering = TaskNumbering::of(charter, tasks);
        for (before, after) in [
            (5, of(one, 0)),
            (40, of(one, 1)),
            (high, of(one, 2)),
            (7, of(two, 0)),
            (high + 1, of(two, 1)),
        ] {
            assert_eq!(numbering.of_task(before), Some(after), "{before}");
        }
        assert_eq!(numbering.of_task(6), None);
        assert_eq!(numbering.end(ShardId(0)), None);
        assert_eq!(numbering.next(two), of(two, 2));
        assert_eq!(numbering.end(two), Some(of(two, 3)));
    }
}
