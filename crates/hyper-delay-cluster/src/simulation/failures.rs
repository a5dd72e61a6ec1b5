//! Rounds that fail: each has a delivery that was given back as failed, whose connection was closed by its
//! client, or whose time to answer is over. The planned end of a node is no such reason.

use std::collections::{BTreeMap, BTreeSet};

use super::task_name::TaskName;
use crate::entry::{self, EntryChange};
use hyper_delay_engine::scheduler::ConsumerId;
use hyper_delay_store::{
    Space,
    record::{self, Name, key},
};

/// A delivery: its connection, task, revision and round.
pub(super) type SentCopy = (ConsumerId, TaskName, u64, u32);

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct FailedRounds {
    /// How many rounds of each revision have failed.
    failed: BTreeMap<u64, u32>,
    left: BTreeSet<ConsumerId>,
    given_back: BTreeSet<(ConsumerId, TaskName)>,
    /// How many deliveries of a task were given back unharmed.
    unharmed: BTreeMap<TaskName, usize>,
}

/// As many of a task in a row are no failures.
const UNHARMED: usize = 10;

impl FailedRounds {
    /// A client leaves its node.
    pub(super) fn connection_left(&mut self, consumer: ConsumerId) {
        self.left.insert(consumer);
    }

    /// A client gives a delivery back, as failed or not.
    pub(super) fn delivery_returned(
        &mut self,
        consumer: ConsumerId,
        name: &TaskName,
        failed: bool,
    ) {
        match failed {
            true => {
                self.given_back.insert((consumer, name.clone()));
            }
            false => *self.unharmed.entry(name.clone()).or_default() += 1,
        }
    }

    /// Checks the rounds that have failed by an entry.
    pub(super) fn check<'a>(
        &mut self,
        bytes: &[u8],
        sent: impl Iterator<Item = &'a SentCopy> + Clone,
        is_late: impl Fn(&SentCopy) -> bool,
        has_older_nodes: bool,
    ) -> Result<(), String> {
        let Ok((_, EntryChange::Writes(batch))) = entry::decode(bytes) else {
            return Ok(());
        };
        for (space, key, value) in batch.into_writes() {
            let (Space::Names, Some((_, id)), Some(value)) = (space, key::name_of(&key), value)
            else {
                continue;
            };
            let name: Name = record::decode(&value).expect("it was encoded");
            let Name { seq, failures, .. } = name;
            let lacks_failure = failures > 0 && name.failure.is_none() && !has_older_nodes;
            if lacks_failure || (name.is_retrying() && failures == 0) {
                return Err(format!(
                    "{failures} rounds of {id} failed, the last: {:?}",
                    name.failure
                ));
            }
            let before = self.failed.insert(seq, failures).unwrap_or(0);
            if failures <= before {
                continue;
            }
            let of_task = sent.clone().filter(|(_, _, at, _)| *at == seq);
            let unharmed = of_task.clone().next();
            let unharmed = unharmed.and_then(|(_, name, ..)| self.unharmed.get(name));
            let unharmed = unharmed.map_or(0, |unharmed| unharmed.saturating_sub(UNHARMED));
            let can_fail = of_task.filter(|copy| {
                let (consumer, name, ..) = copy;
                self.left.contains(consumer)
                    || self.given_back.contains(&(*consumer, name.clone()))
                    || is_late(copy)
            });
            let rounds: BTreeSet<u32> = can_fail.map(|(_, _, _, attempt)| *attempt).collect();
            if rounds.len() + unharmed < usize::try_from(failures).expect("it is small") {
                return Err(format!(
                    "{failures} rounds of {id} have failed, but only {rounds:?} had a reason"
                ));
            }
        }
        Ok(())
    }
}
