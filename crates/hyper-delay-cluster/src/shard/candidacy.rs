//! The part of this node in elections.

use super::{
    Shard, ShardSetup,
    election::{Candidate, ElectionStep},
};
use crate::{lease::Term, log::NodeName};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// Leads the shard if it has no leader, or if its leader is silent.
    pub(super) fn elect(&mut self, now: Now, term: Option<Term>) {
        let grants_end = self.grants.last_end();
        let resignation = self.election.resignation(grants_end, &mut self.calls, now);
        self.effects.calls.extend(resignation);
        let Some(term) = term.filter(|term| term.holds(now)) else {
            return;
        };
        if self.leading.is_some() {
            return;
        }
        // A node that is behind would win, and lead nothing until it has caught up. Others have less
        // to read, and without a leader the journal does not grow.
        let is_at_the_end = self.journal.is_at_the_end(self.applied()) && !self.is_draining();
        let candidate = Candidate {
            lease: term.lease,
            rank: rank(&self.members, &self.setup),
            is_ready: self.disk_progress.is_known() && is_at_the_end,
        };
        let (setup, calls) = (&self.setup, &mut self.calls);
        match self.election.step(candidate, setup, calls, now) {
            ElectionStep::Wait => {}
            ElectionStep::Request(call, request) => self.effects.calls.push((call, request)),
            ElectionStep::ReadJournal => {
                self.journal.read_now();
                self.read(now);
            }
        }
    }
}

/// Returns how many nodes go first when there is no leader. They differ from shard to shard, so
/// the leaders spread over the nodes. `None`: this node is no member.
pub(super) fn rank(members: &[NodeName], setup: &ShardSetup) -> Option<u32> {
    let is_this = |node: &NodeName| *node == setup.member.node;
    let place = members.iter().position(is_this)?;
    let first = usize::from(setup.shard.0) % members.len();
    let rank = (place + members.len() - first) % members.len();
    Some(u32::try_from(rank).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::setup, *};
    use crate::ShardId;

    #[test]
    fn the_first_node_differs_from_shard_to_shard() {
        let members = ["x", "a", "y"].map(NodeName::from);
        let ranks = [0, 1, 2, 3].map(|shard| {
            let setup = ShardSetup {
                shard: ShardId(shard),
                ..setup()
            };
            rank(&members, &setup)
        });
        assert_eq!(ranks, [Some(1), Some(0), Some(2), Some(1)]);
        assert_eq!(rank(&members[..1], &setup()), None, "a is no member");
    }
}
