//! Heartbeats, and why no two nodes act for a shard at the same time.
//!
//! The log keeps no time ([`log`](super::log)), so a leadership never ends there by itself. Each
//! node changes its *heartbeat* four times in a lease, and a follower takes a leadership over when
//! it has seen the heartbeat of the leader's node unchanged for one lease, on its own clock.
//! Nothing depends on the clock of the log, or on the order in which its members stop and resume.
//!
//! ```text
//! leader    keep-alive ── keep-alive ──┐ stops, or is cut off
//!           └──────────── acts for 7/8 of a lease ───▶|
//! follower          sees the heartbeat ──────── one lease ────────▶ takes over, if the heartbeat
//!                                                                   is unchanged
//! ```
//!
//! # Transactions
//!
//! Revisions are those of the log: every change has a higher one.
//!
//! - *Announce* `(node, lease, replaces)`: if the heartbeat has the revision `replaces` (0:
//!   there is none), it becomes one of `lease`.
//! - *Keep-alive* `(node, lease)`: if the heartbeat is of `lease`, its revision changes.
//! - *Leave* `(node, lease)`: if the heartbeat is of `lease`, it is removed.
//! - *Lead* `(node, lease, takeover)`: if the heartbeat of the node is of `lease`, there is no
//!   leader, or it has the epoch in `takeover`, and, if `takeover` has a heartbeat, that one has
//!   the revision named there, then the node leads. The epoch is the revision of this change.
//!
//! # Rules
//!
//! Let `ttl` be the length of a lease.
//!
//! 1. A node acts under a lease only within its *term*. A term begins with the answer to a
//!    keep-alive. Every such answer moves its end to 7/8 `ttl` after that keep-alive was *sent*, if
//!    the term has not ended when the answer is there. After the end the node uses a new lease,
//!    which it announces no earlier than one `ttl` after that keep-alive was sent
//!    ([`lease`](super::lease)).
//! 2. A node acts for a shard only under the lease with which it leads. A serving node acts for
//!    another node for a time that it counts from before that node read its term.
//! 3. Another process replaces a heartbeat only after it has seen it unchanged for one `ttl`, or
//!    once it is removed, which a node does after it has ceased to act.
//! 4. A follower takes a leadership over only after it has seen the same heartbeat of its node for
//!    one `ttl`, with this revision in `takeover`; or after it has seen one of another lease
//!    with a revision higher than the epoch: then the lease of the leadership was replaced.
//! 5. To *see* is to have an answer, and the wait begins with a read of the clock after that.
//!
//! # Proof
//!
//! Let all clocks run at rates between `1 - x` and `1 + x`. Claim: when leadership `e`, of node A
//! with lease L, is taken over, A and whoever acts for it have ceased to act under L.
//!
//! *Silence.* Let the heartbeat have revision `r` when `e` is taken over, at time `T`. The
//! keep-alives of L that A has sent reach the log before `T` or after. Let `k` be the one that was
//! sent last of those that extended the term and reached the log before `T`. The revision of `k` is
//! `r` at the most, so the follower saw `r` no earlier than `k` was sent, and `T` is at least
//! `ttl / (1 + x)` later. The term that follows from `k`, and what a serving node derives from it,
//! ends at most `7/8 ttl / (1 - x)` after `k` was sent. With `x <= 1/15` that is before `T`. A
//! keep-alive that reaches the log after `T` is answered after that end, so it does not extend the
//! term (rule 1). If there is no `k`, the term has not begun, and for the same reason as before
//! nothing extends it.
//!
//! *Replacement.* *Lead* needs the heartbeat to be of L at `e`. A heartbeat of another lease with a
//! higher revision was put by a process that waited for one `ttl` (rule 3: the proof is the one
//! above), after a removal (A had ceased to act), or by A itself, no earlier than one `ttl` after
//! it has sent the last keep-alive that counts (rule 1): the same comparison, with the clock of A
//! in place of that of the follower.
//!
//! A lease does not come back after it was replaced: every lease has a number of its own, and a
//! late copy of *Announce* names a revision that is gone. Only after a removal a copy that replaces
//! 0 can be carried out late. It is of a process that has ended, or waits for an answer and has no
//! term: the next process waits in vain for one `ttl`.
//!
//! So clocks may be wrong by 6.6 %, each. An absent heartbeat counts like one with revision 0,
//! after one `ttl`: a node that leaves has resigned before, so no node waits for that, and a
//! heartbeat that was deleted by hand proves nothing.
//!
//! # Cost
//!
//! Four writes of some 100 bytes for each node and lease, whatever the number of shards: with a
//! lease of two seconds an idle cluster of three nodes writes six keys in a second. Followers read
//! the heartbeat of the leader with the end of the journal, which they do four times in a lease
//! anyway.

use std::time::Duration;

use race_wheel::Tick;

use super::log::{LeaderAndHeartbeat, SilentHeartbeat, Takeover};
use hyper_delay_engine::clock::{Now, nanos};

/// Watches the heartbeat of a leader.
#[derive(Debug, Clone)]
pub(crate) struct HeartbeatWatch {
    leader: LeaderAndHeartbeat,
    /// Since when the heartbeat is seen unchanged. `None`: the wait begins with the next read of
    /// the clock.
    since: Option<Tick>,
    /// Since when it is known that the lease was replaced.
    replaced: Option<Tick>,
}

impl HeartbeatWatch {
    /// Starts to watch a leader.
    pub(crate) const fn new(led: LeaderAndHeartbeat) -> Self {
        Self {
            leader: led,
            since: None,
            replaced: None,
        }
    }

    /// Notes the leader and the heartbeat in an answer of the log.
    pub(crate) fn observe(&mut self, led: LeaderAndHeartbeat) {
        if led.leader.epoch != self.leader.leader.epoch {
            *self = Self::new(led);
        } else if led.heartbeat != self.leader.heartbeat {
            self.leader = led;
            self.since = None;
        }
    }

    /// Returns the leadership that is watched.
    pub(crate) const fn epoch(&self) -> u64 {
        self.leader.leader.epoch
    }

    /// Returns the moment from which on the leadership may be taken over, if nothing else is seen
    /// until then. `now` must be read after the answer was there. Without a heartbeat the lease
    /// lasts `ttl`.
    pub(crate) fn takeover_at(&mut self, ttl: Duration, now: Now) -> Tick {
        let since = *self.since.get_or_insert(now.monotonic);
        if self.is_replaced() {
            return *self.replaced.get_or_insert(now.monotonic);
        }
        since + nanos(self.leader.heartbeat.map_or(ttl, |heartbeat| heartbeat.ttl))
    }

    /// Returns the takeover for a request to lead.
    pub(crate) fn takeover(&self) -> Takeover {
        let silence = || SilentHeartbeat {
            node: self.leader.leader.member.node.clone(),
            revision: self
                .leader
                .heartbeat
                .map_or(0, |heartbeat| heartbeat.revision),
        };
        Takeover {
            epoch: self.epoch(),
            silence: (!self.is_replaced()).then(silence),
        }
    }

    /// Returns whether the lease of the leadership was replaced since it began.
    fn is_replaced(&self) -> bool {
        let LeaderAndHeartbeat { leader, heartbeat } = &self.leader;
        heartbeat.is_some_and(|heartbeat| {
            heartbeat.lease != leader.lease && heartbeat.revision > leader.epoch
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Heartbeat, Leader, LeaseId, Member};

    const TTL: Duration = Duration::from_secs(8);
    /// The lease of followers, which is not that of the leader.
    const OTHER: Duration = Duration::from_secs(5);

    fn at(seconds: u64) -> Now {
        Now {
            wall_nanos: 0,
            monotonic: tick(seconds),
        }
    }

    fn tick(seconds: u64) -> Tick {
        Tick::new(nanos(Duration::from_secs(seconds)))
    }

    fn led(epoch: u64, heartbeat: Option<(u64, u64)>) -> LeaderAndHeartbeat {
        LeaderAndHeartbeat {
            leader: Leader {
                member: Member {
                    node: "a".into(),
                    address: "a:1".into(),
                },
                epoch,
                lease: LeaseId(7),
            },
            heartbeat: heartbeat.map(|(revision, lease)| Heartbeat {
                revision,
                lease: LeaseId(lease),
                ttl: TTL,
            }),
        }
    }

    fn silence(epoch: u64, revision: u64) -> Takeover {
        let node = "a".into();
        Takeover {
            epoch,
            silence: Some(SilentHeartbeat { node, revision }),
        }
    }

    #[test]
    fn a_leadership_ends_one_lease_after_its_heartbeat_was_seen_first() {
        let mut watch = HeartbeatWatch::new(led(30, Some((40, 7))));
        assert_eq!(watch.takeover_at(OTHER, at(100)), tick(108));
        watch.observe(led(30, Some((40, 7))));
        assert_eq!(watch.takeover_at(OTHER, at(104)), tick(108));
        assert_eq!(watch.takeover_at(OTHER, at(110)), tick(108));
        assert_eq!(watch.takeover(), silence(30, 40));
    }

    #[test]
    fn another_heartbeat_begins_the_wait_again() {
        let mut watch = HeartbeatWatch::new(led(30, Some((40, 7))));
        watch.takeover_at(OTHER, at(100));
        watch.observe(led(30, Some((41, 7))));
        assert_eq!(watch.takeover_at(OTHER, at(107)), tick(115));
        assert_eq!(watch.takeover(), silence(30, 41));
    }

    #[test]
    fn the_wait_begins_after_the_answer() {
        let mut watch = HeartbeatWatch::new(led(30, Some((40, 7))));
        watch.takeover_at(OTHER, at(100));
        watch.observe(led(30, Some((41, 7))));
        // The clock was read much later.
        assert_eq!(watch.takeover_at(OTHER, at(120)), tick(128));
    }

    #[test]
    fn another_leadership_begins_the_wait_again() {
        let mut watch = HeartbeatWatch::new(led(30, Some((40, 7))));
        watch.takeover_at(OTHER, at(100));
        watch.observe(led(41, Some((40, 7))));
        assert_eq!(watch.takeover_at(OTHER, at(105)), tick(113));
        assert_eq!(watch.takeover(), silence(41, 40));
    }

    #[test]
    fn without_a_heartbeat_the_wait_is_a_lease_of_the_follower() {
        let mut watch = HeartbeatWatch::new(led(30, None));
        assert_eq!(watch.takeover_at(OTHER, at(100)), tick(105));
        assert_eq!(watch.takeover(), silence(30, 0));
    }

    #[test]
    fn a_leadership_whose_lease_was_replaced_has_ended() {
        let takeover = Takeover {
            epoch: 30,
            silence: None,
        };
        let mut watch = HeartbeatWatch::new(led(30, Some((40, 7))));
        watch.takeover_at(OTHER, at(100));
        watch.observe(led(30, Some((41, 8))));
        assert_eq!(watch.takeover_at(OTHER, at(102)), tick(102));
        assert_eq!(watch.takeover(), takeover);
        // The process that has replaced it lives.
        watch.observe(led(30, Some((42, 8))));
        assert_eq!(watch.takeover_at(OTHER, at(104)), tick(102));
        assert_eq!(watch.takeover(), takeover);
    }

    #[test]
    fn a_heartbeat_from_before_the_leadership_replaces_nothing() {
        let mut watch = HeartbeatWatch::new(led(30, Some((29, 6))));
        assert_eq!(watch.takeover_at(OTHER, at(100)), tick(108));
        assert_eq!(watch.takeover(), silence(30, 29));
    }

    #[test]
    fn the_margin_is_enough_for_clocks_that_are_wrong_by_a_fifteenth() {
        // The leader's clock is slow, the follower's fast, by parts in a thousand.
        let (ttl, acts) = (8_000_000_u64, 7_000_000);
        let overlaps = |wrong: u64| acts * 1_000 / (1_000 - wrong) > ttl * 1_000 / (1_000 + wrong);
        assert!(!overlaps(66));
        assert!(overlaps(67));
    }
}
