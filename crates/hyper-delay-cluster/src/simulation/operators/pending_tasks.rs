//! The pending tasks of the routes of a shard, and the limits of tokens.

use std::{collections::BTreeMap, sync::Arc};

use crate::simulation::{own_routes::is_without_route, task_name::TaskName};
use hyper_delay_protocol::access::Grant;

/// The tokens with which each task was scheduled.
#[derive(Debug, Default)]
pub(super) struct TaskTokens {
    tokens: BTreeMap<TaskName, Vec<Arc<Grant>>>,
}

/// The pending tasks of a shard by route, before its last entry and after it.
#[derive(Debug, Default)]
pub(super) struct PendingTasks {
    before: BTreeMap<Arc<str>, u64>,
    after: BTreeMap<Arc<str>, u64>,
    /// By the last entry.
    added: BTreeMap<Arc<str>, u64>,
    removed: BTreeMap<Arc<str>, u64>,
    /// New tasks of the last entry by number.
    new: BTreeMap<u64, TaskName>,
}

impl TaskTokens {
    /// A task is scheduled with a token.
    pub(super) fn add(&mut self, name: &TaskName, token: Arc<Grant>) {
        self.tokens.entry(name.clone()).or_default().push(token);
    }

    fn of(&self, name: &TaskName) -> &[Arc<Grant>] {
        self.tokens.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Returns the sum over the routes of a token.
fn sum(counts: &BTreeMap<Arc<str>, u64>, token: &Grant) -> u64 {
    let of_token = counts
        .iter()
        .filter(|(route, _)| token.routes.contain(route));
    of_token.map(|(_, count)| count).sum()
}

fn most(token: &Grant) -> u64 {
    token.pending.unwrap_or(u64::MAX)
}

impl PendingTasks {
    /// An entry begins.
    pub(super) fn begin(&mut self) {
        self.before.clone_from(&self.after);
        self.added.clear();
        self.removed.clear();
        self.new.clear();
    }

    /// A task is made.
    pub(super) fn scheduled(&mut self, seq: u64, name: &TaskName) {
        self.new.insert(seq, name.clone());
        self.add(name);
    }

    /// A task is pending from now on.
    pub(super) fn add(&mut self, name: &TaskName) {
        *self.added.entry(name.route.clone()).or_default() += 1;
        *self.after.entry(name.route.clone()).or_default() += 1;
    }

    /// A task is pending no more.
    pub(super) fn remove(&mut self, name: &TaskName) {
        *self.removed.entry(name.route.clone()).or_default() += 1;
        *self.after.entry(name.route.clone()).or_default() -= 1;
    }

    /// A task was not pending for a while within the entry.
    pub(super) fn left_for_a_while(&mut self, name: &TaskName) {
        *self.removed.entry(name.route.clone()).or_default() += 1;
    }

    /// A task may have been pending for a while within the entry.
    pub(super) fn came_for_a_while(&mut self, name: &TaskName) {
        *self.added.entry(name.route.clone()).or_default() += 1;
    }

    /// Checks the tasks that the entry has made: one of the tokens of each had not reached its limit.
    /// The entry does not say whether tasks were removed before.
    pub(super) fn check(&self, sent: &TaskTokens) -> Result<(), String> {
        let mut earlier = BTreeMap::new();
        for name in self.new.values() {
            let tokens = sent.of(name);
            let may_have = |token: &Arc<Grant>| {
                let before = sum(&self.before, token) + sum(&earlier, token);
                before < most(token).saturating_add(sum(&self.removed, token))
            };
            if !tokens.is_empty() && !tokens.iter().any(may_have) {
                return Err(format!("{name} is more than its tokens may have"));
            }
            *earlier.entry(name.route.clone()).or_default() += 1;
        }
        Ok(())
    }

    /// A schedule is refused: one of its tokens can have reached its limit, or its route, if that is
    /// its connection's own.
    pub(super) fn refused(&self, name: &TaskName, sent: &TaskTokens) -> Result<(), String> {
        let is_full =
            |token: &Arc<Grant>| sum(&self.before, token) + sum(&self.added, token) >= most(token);
        match is_without_route(&name.id) || sent.of(name).iter().any(is_full) {
            true => Ok(()),
            false => Err(format!("{name} is refused, but its tokens may have more")),
        }
    }
}
