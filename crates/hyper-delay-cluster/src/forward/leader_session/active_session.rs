//! A session that lasts.

use std::sync::Arc;

use race_wheel::Tick;

use super::{SessionPartner, session_times::SessionTimes};
use crate::{
    ShardId,
    forward::{
        deliveries::{LeaderCopy, ServedDelivery},
        wire::{ForwardedCopy, LeadershipGrant},
    },
    log::NodeName,
};
use hyper_delay_engine::authority::Authority;

/// See the [module](self).
#[derive(Debug)]
pub(in crate::forward) struct ActiveSession {
    partner: SessionPartner,
    authority: Arc<Authority>,
    /// The latest answer to a ping.
    grant: LeadershipGrant,
    /// When that came.
    last_reply: Tick,
    next_ping: Tick,
    /// The leader has got everything from before, and the connections lend it credit.
    lends: bool,
}

impl ActiveSession {
    /// The leader of a shard has begun a session.
    pub(in crate::forward) fn new(
        shard: ShardId,
        partner: SessionPartner,
        grant: LeadershipGrant,
        now: Tick,
    ) -> Self {
        Self {
            partner,
            authority: Arc::new(Authority::new(shard.0, grant.to_local(grant.until))),
            grant,
            last_reply: now,
            next_ping: now,
            lends: false,
        }
    }

    pub(super) const fn partner(&self) -> &SessionPartner {
        &self.partner
    }

    /// Returns whether the leader is on that node.
    pub(in crate::forward) fn is_with(&self, node: &NodeName) -> bool {
        self.partner.node == *node
    }

    /// Returns whether no other leads by now.
    pub(in crate::forward) fn holds(&self, now: Tick) -> bool {
        self.authority.holds(now)
    }

    /// Returns whether the leadership counts this delivery as in flight.
    pub(in crate::forward) fn counts(&self, delivered: &ServedDelivery) -> bool {
        self.partner.epoch == delivered.origin.epoch
    }

    /// Returns whether this session has sent a delivery.
    pub(in crate::forward) fn has_sent(&self, delivered: &ServedDelivery) -> bool {
        Arc::ptr_eq(&delivered.origin.authority, &self.authority)
    }

    /// Converts a time of the leader to one of this node.
    pub(in crate::forward) fn to_local(&self, there: Tick) -> Tick {
        self.grant.to_local(there)
    }

    /// Returns what this node knows of a copy that the leader sends.
    pub(in crate::forward) fn delivered(&self, copy: &ForwardedCopy) -> ServedDelivery {
        ServedDelivery {
            route: copy.revision.route.clone(),
            seq: copy.revision.seq,
            due: copy.due,
            attempt: copy.revision.attempt,
            until: self.to_local(copy.until),
            write_by: self.to_local(copy.write_by),
            is_lost: false,
            origin: LeaderCopy {
                shard: ShardId(self.authority.shard()),
                epoch: self.partner.epoch,
                until_at_leader: copy.until,
                expires: copy.expires.map(|at| self.to_local(Tick::new(at))),
                authority: self.authority.clone(),
            },
        }
    }

    /// Returns whether the connections lend the leader credit.
    pub(super) const fn lends(&self) -> bool {
        self.lends
    }

    pub(super) const fn start_lending(&mut self) {
        self.lends = true;
    }

    pub(super) const fn stop_lending(&mut self) {
        self.lends = false;
    }

    /// Returns whether the leader has not answered for a lease.
    pub(super) fn is_silent(&self, times: SessionTimes, now: Tick) -> bool {
        self.last_reply + times.lease <= now
    }

    /// Returns whether a ping is due. Then the next one is due after an interval.
    pub(super) fn take_ping(&mut self, times: SessionTimes, now: Tick) -> bool {
        let is_due = self.next_ping <= now;
        if is_due {
            self.next_ping = now + times.ping;
        }
        is_due
    }

    /// The leader has answered a ping.
    pub(super) fn granted(&mut self, grant: LeadershipGrant, now: Tick) {
        self.last_reply = now;
        self.grant = grant;
        self.authority.extend(grant.to_local(grant.until));
    }

    /// Returns when the next ping is due, or the leader has been silent for too long.
    pub(super) fn next_event(&self, times: SessionTimes) -> Tick {
        self.next_ping.min(self.last_reply + times.lease)
    }

    /// The session has ended: none of its deliveries is written any more.
    pub(in crate::forward) fn revoke(self) -> Arc<Authority> {
        self.authority.revoke();
        self.authority
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::forward::samples::{active, copy, grant};

    /// A ping is due each 100 ns.
    fn times() -> SessionTimes {
        SessionTimes::new(Duration::from_nanos(800))
    }

    #[test]
    fn times_of_a_copy_are_converted_to_the_clock_of_this_node() {
        let session = active(7, 50);
        let delivered = session.delivered(&copy(9, 0));
        assert_eq!(
            (
                delivered.until,
                delivered.write_by,
                delivered.origin.expires
            ),
            (Tick::new(800), Tick::new(700), Some(Tick::new(600)))
        );
        let origin = &delivered.origin;
        assert_eq!(
            (origin.shard, origin.epoch, origin.until_at_leader),
            (ShardId(3), 7, Tick::new(900))
        );
    }

    #[test]
    fn a_session_knows_its_deliveries_and_those_of_its_leadership() {
        let (first, second, other) = (active(7, 0), active(7, 0), active(8, 0));
        let delivered = first.delivered(&copy(9, 0));
        assert!(first.has_sent(&delivered) && !second.has_sent(&delivered));
        assert!(second.counts(&delivered) && !other.counts(&delivered));
    }

    #[test]
    fn pings_are_due_at_once_and_then_each_interval() {
        let mut session = active(7, 50);
        assert!(session.take_ping(times(), Tick::new(50)));
        assert!(!session.take_ping(times(), Tick::new(149)));
        assert_eq!(session.next_event(times()), Tick::new(150));
        assert!(session.take_ping(times(), Tick::new(150)));
    }

    #[test]
    fn an_answer_extends_the_session_and_its_authority() {
        let mut session = active(7, 0);
        let now = |nanos| Tick::new(nanos);
        assert!(session.is_silent(times(), now(800)) && !session.is_silent(times(), now(799)));
        session.granted(grant(500), now(600));
        assert!(session.is_silent(times(), now(1_400)) && !session.is_silent(times(), now(1_399)));
        assert!(session.holds(now(1_499)) && !session.holds(now(1_500)));
        assert!(!session.revoke().holds(now(600)));
    }
}
