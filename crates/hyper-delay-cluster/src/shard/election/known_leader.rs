//! The leader of a shard, as far as a node knows.

use std::time::Duration;

use race_wheel::Tick;

use crate::{
    heartbeat::HeartbeatWatch,
    log::{Leader, LeaderAndHeartbeat, Takeover},
};
use hyper_delay_engine::clock::Now;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct KnownLeader {
    leader: Option<Leader>,
    /// The highest revision of the log that is known to have changed the leader.
    revision: u64,
    /// Whether the leader has changed since it was last asked.
    has_changed: bool,
    /// Watches the heartbeat of the leader. `None`: it is not known yet.
    heartbeat_watch: Option<HeartbeatWatch>,
    /// Since when there is no leader, as far as this node knows.
    vacant_since: Option<Tick>,
}

impl KnownLeader {
    /// Returns the leader of the shard.
    pub(super) const fn get(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// Returns whether the leader has changed since the last call.
    pub(super) const fn take_change(&mut self) -> bool {
        std::mem::replace(&mut self.has_changed, false)
    }

    /// This leads the shard since a revision of the log, or did until a moment ago. A watch that
    /// reconnects to another member of the log can repeat old changes. `own` is the leadership that
    /// this node has won, or 0.
    pub(super) fn announced(&mut self, leader: Option<Leader>, revision: u64, own: u64, now: Now) {
        if revision > self.revision {
            self.revision = revision;
            self.update(leader, own, now);
        }
    }

    /// The log has answered that this leads the shard. `own` is the leadership that this node has
    /// won, or 0.
    pub(super) fn confirmed(&mut self, current: Option<LeaderAndHeartbeat>, own: u64, now: Now) {
        let epoch = current.as_ref().map_or(0, |current| current.leader.epoch);
        self.revision = self.revision.max(epoch);
        let leader = current.as_ref().map(|current| current.leader.clone());
        self.update(leader, own, now);
        match (&mut self.heartbeat_watch, current) {
            (Some(watch), Some(current)) => watch.observe(current),
            (watch, current) => *watch = current.map(HeartbeatWatch::new),
        }
    }

    /// Ignores news that are older than the leadership of this node. Nothing would correct them: a
    /// leader does not read the journal.
    fn update(&mut self, leader: Option<Leader>, own: u64, now: Now) {
        if leader.as_ref().map_or(0, |leader| leader.epoch) < own {
            return;
        }
        self.vacant_since = match leader {
            Some(_) => None,
            None => self.vacant_since.or(Some(now.monotonic)),
        };
        self.set(leader);
    }

    /// This leads the shard.
    pub(super) fn set(&mut self, leader: Option<Leader>) {
        if self.leader != leader {
            self.leader = leader;
            self.has_changed = true;
        }
    }

    /// This node led, and does not any more. The next leader is not known.
    pub(super) fn forget(&mut self) {
        self.set(None);
        self.heartbeat_watch = None;
        self.vacant_since = None;
    }

    /// Returns the moment from which on the shard can be led by another node, and what it takes
    /// over then. `None`: not enough is known.
    pub(super) fn free_since(
        &mut self,
        lease: Duration,
        now: Now,
    ) -> Option<(Tick, Option<Takeover>)> {
        let Some(leader) = &self.leader else {
            return Some((self.vacant_since?, None));
        };
        let watch = self.heartbeat_watch.as_mut();
        let watch = watch.filter(|watch| watch.epoch() == leader.epoch)?;
        Some((watch.takeover_at(lease, now), Some(watch.takeover())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{LeaseId, Member};
    use crate::shard::fixture::at;

    const LEASE: Duration = Duration::from_nanos(800);

    fn leader(epoch: u64) -> Leader {
        let member = Member {
            node: "b".into(),
            address: "b:1".into(),
        };
        Leader {
            member,
            epoch,
            lease: LeaseId(6),
        }
    }

    fn epoch(known: &KnownLeader) -> Option<u64> {
        known.get().map(|leader| leader.epoch)
    }

    #[test]
    fn repeated_and_older_news_change_nothing() {
        let mut known = KnownLeader::default();
        known.announced(Some(leader(5)), 5, 0, at(0));
        assert!(known.take_change() && !known.take_change());
        known.announced(Some(leader(3)), 3, 0, at(0));
        known.announced(None, 5, 0, at(0));
        assert_eq!(epoch(&known), Some(5));
        known.announced(Some(leader(6)), 6, 7, at(0));
        known.announced(None, 8, 7, at(0));
        assert_eq!(epoch(&known), Some(5), "this node has won 7");
        assert!(!known.take_change());
        known.announced(Some(leader(9)), 9, 7, at(0));
        assert_eq!(epoch(&known), Some(9));
        assert!(known.take_change());
    }

    #[test]
    fn an_answer_of_the_log_outdates_the_changes_before_it() {
        let mut known = KnownLeader::default();
        let current = LeaderAndHeartbeat {
            leader: leader(5),
            heartbeat: None,
        };
        known.confirmed(Some(current), 0, at(0));
        known.announced(Some(leader(4)), 4, 0, at(0));
        assert_eq!(epoch(&known), Some(5));
    }

    #[test]
    fn a_shard_is_free_since_the_first_news_that_it_has_no_leader() {
        let mut known = KnownLeader::default();
        assert_eq!(known.free_since(LEASE, at(5)), None);
        known.announced(None, 1, 0, at(10));
        known.announced(None, 2, 0, at(20));
        assert_eq!(known.free_since(LEASE, at(90)), Some((Tick::new(10), None)));
        known.announced(Some(leader(3)), 3, 0, at(30));
        assert_eq!(
            known.free_since(LEASE, at(90)),
            None,
            "no heartbeat is known"
        );
        known.forget();
        assert_eq!(known.free_since(LEASE, at(90)), None);
    }
}
