//! The serving nodes that can still write deliveries of a leadership of this node.

use std::{collections::BTreeMap, time::Duration};

use race_wheel::Tick;

use super::PeerId;
use crate::{forward::wire::LeadershipGrant, lease::Term};
use hyper_delay_engine::clock::{Now, nanos};

/// The end of the last grant of each node, for each leadership. A leadership ends in the log only
/// after it, or when the node has released it.
#[derive(Debug, Default)]
pub(super) struct DeliveryGrants {
    /// By the node and the epoch of the leadership.
    ends: BTreeMap<(PeerId, u64), Tick>,
}

impl DeliveryGrants {
    /// Lets a serving node write deliveries of a leadership for a part of the lease. `None`: the term
    /// of this node is over.
    pub(super) fn grant(
        &mut self,
        (peer, epoch): (PeerId, u64),
        asked_at: Tick,
        term: Option<Term>,
        lease: Duration,
        now: Now,
    ) -> Option<LeadershipGrant> {
        let term = term.filter(|term| term.holds(now))?;
        let until = term.until.min(now.after(lease / 2));
        self.ends.retain(|_, ends| now.monotonic < *ends);
        // The clock of the serving node can be slower than that of this one.
        let ends = until + nanos(lease / 8);
        let of_peer = self.ends.entry((peer, epoch)).or_insert(ends);
        *of_peer = ends.max(*of_peer);
        Some(LeadershipGrant {
            asked_at,
            at: now.monotonic,
            until,
        })
    }

    /// A node writes no delivery of a leadership any more.
    pub(super) fn release(&mut self, peer: PeerId, epoch: u64) {
        self.ends.remove(&(peer, epoch));
    }

    /// Returns the moment from which on no node writes a delivery.
    pub(super) fn last_end(&self) -> Tick {
        self.ends.values().copied().max().unwrap_or(Tick::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::at, *};
    use crate::log::LeaseId;

    const LEASE: Duration = Duration::from_nanos(800);

    fn until(nanos: u64) -> Option<Term> {
        let (lease, until) = (LeaseId(5), Tick::new(nanos));
        Some(Term { lease, until })
    }

    #[test]
    fn a_grant_ends_with_the_term_and_counts_for_longer_here() {
        let mut grants = DeliveryGrants::default();
        let session = (PeerId(1), 3);
        let asked_at = Tick::new(7);
        let grant = grants.grant(session, asked_at, until(2_000), LEASE, at(1_000));
        let expected = LeadershipGrant {
            asked_at,
            at: Tick::new(1_000),
            until: Tick::new(1_400),
        };
        assert_eq!(grant, Some(expected));
        assert_eq!(grants.last_end(), Tick::new(1_500));
        let grant = grants.grant(session, asked_at, until(1_200), LEASE, at(1_100));
        assert_eq!(grant.map(|grant| grant.until), Some(Tick::new(1_200)));
        assert_eq!(grants.last_end(), Tick::new(1_500), "the longer one counts");
        let grant = grants.grant(session, asked_at, until(1_200), LEASE, at(1_200));
        assert_eq!(grant, None);
    }

    #[test]
    fn a_release_ends_the_grants_of_one_leadership_of_one_node() {
        let mut grants = DeliveryGrants::default();
        for (session, now) in [
            ((PeerId(1), 3), 10),
            ((PeerId(1), 4), 20),
            ((PeerId(2), 4), 5),
        ] {
            grants.grant(session, Tick::ZERO, until(9_000), LEASE, at(now));
        }
        grants.release(PeerId(1), 3);
        assert_eq!(grants.last_end(), Tick::new(520));
        grants.release(PeerId(1), 4);
        assert_eq!(grants.last_end(), Tick::new(505));
        grants.release(PeerId(2), 4);
        assert_eq!(grants.last_end(), Tick::ZERO);
    }
}
