//! Detects whether the wall clock of this node is wrong.
//!
//! "Early" is judged by the leader's clock, so a node whose clock is off must not lead. Nodes that
//! are linked exchange the time: the peer's clock was read between a request and its answer,
//! so the difference is known up to the time in between. A slow link makes it less exact, never
//! wrong.
//!
//! This node is off if more nodes differ from it for sure than may agree with it, itself included.
//! So of two nodes neither is off, as none knows which is right; of three the odd one is, and knows
//! it.

use std::{collections::BTreeMap, time::Duration};

use race_wheel::Tick;

use super::log::NodeName;
use hyper_delay_engine::clock::{Now, nanos};

/// The largest difference at which a clock is right.
const TOLERANCE: i128 = 500_000_000;

/// Older readings do not count: clocks drift, and nodes end.
const OUTDATED: Duration = Duration::from_secs(60);

/// Compares the wall clock of this node with those of its peers.
#[derive(Debug, Default)]
pub(crate) struct ClockCheck {
    peers: BTreeMap<NodeName, PeerClock>,
}

/// The time of a peer.
#[derive(Debug, Clone, Copy)]
struct PeerClock {
    /// When it was received.
    at: Tick,
    /// The offset of this node's clock then. It changes when the clock is set.
    offset: i128,
    /// Nanoseconds by which the peer's clock was ahead of this one: at least, and at most.
    least: i128,
    most: i128,
}

impl PeerClock {
    /// Returns the nanoseconds by which the clocks differ for sure, as the clock of this node is
    /// now.
    fn difference(self, now: Now) -> i128 {
        let set_since = now.offset() - self.offset;
        let (least, most) = (self.least - set_since, self.most - set_since);
        match (least > 0, most < 0) {
            (true, _) => least,
            (_, true) => -most,
            (false, false) => 0,
        }
    }
}

impl ClockCheck {
    /// Records the time of a peer, in Unix nanoseconds, from the answer to a request.
    pub(crate) fn record(&mut self, peer: NodeName, sent: Now, wall_nanos: u64, received: Now) {
        let least = i128::from(wall_nanos) - i128::from(received.wall_nanos);
        let reading = PeerClock {
            at: received.monotonic,
            offset: received.offset(),
            least,
            most: least + i128::from(received.monotonic.since(sent.monotonic)),
        };
        self.peers.insert(peer, reading);
    }

    /// Returns the nodes whose clocks differ too much from that of this node, with the milliseconds
    /// by which they do.
    pub(crate) fn deviating(&self, now: Now) -> impl Iterator<Item = (&NodeName, u64)> {
        let current = self.recent(now);
        let differences = current.map(move |(peer, reading)| (peer, reading.difference(now)));
        let different = differences.filter(|(_, difference)| *difference > TOLERANCE);
        different.map(|(peer, difference)| {
            let millis = u64::try_from(difference / 1_000_000);
            (peer, millis.unwrap_or(u64::MAX))
        })
    }

    /// Returns whether the clock of this node is off.
    pub(crate) fn is_off(&self, now: Now) -> bool {
        let different = self.deviating(now).count();
        let all = self.recent(now).count() + 1;
        different > all - different
    }

    fn recent(&self, now: Now) -> impl Iterator<Item = (&NodeName, PeerClock)> {
        let is_current =
            move |reading: &PeerClock| now.monotonic.since(reading.at) < nanos(OUTDATED);
        let peers = self.peers.iter().map(|(peer, reading)| (peer, *reading));
        peers.filter(move |(_, reading)| is_current(reading))
    }
}

/// A change of the offset of a clock by less can come from the time between two reads.
const NOTABLE: u128 = 50_000_000;

/// Detects steps of the wall clock of this node.
#[derive(Debug, Default)]
pub(crate) struct ClockStepDetector {
    /// The offset at the last check.
    last_offset: Option<i128>,
}

impl ClockStepDetector {
    /// Returns whether the clock was set since the last check.
    pub(crate) fn has_stepped(&mut self, now: Now) -> bool {
        let before = self.last_offset.replace(now.offset());
        before.is_some_and(|before| (now.offset() - before).unsigned_abs() >= NOTABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    /// The time of this node, whose clock is ahead by some milliseconds.
    fn at(millis: u64, ahead: i64) -> Now {
        Now {
            wall_nanos: (1_000_000_i64 + ahead).cast_unsigned() * MILLI + millis * MILLI,
            monotonic: Tick::new(millis * MILLI),
        }
    }

    /// Hears from nodes whose clocks are ahead by these milliseconds, in answers that took `rtt`.
    fn check(ahead: &[i64], rtt: u64) -> ClockCheck {
        let mut check = ClockCheck::default();
        for (number, ahead) in ahead.iter().enumerate() {
            let peer = format!("peer-{number}").into();
            let wall = at(100 + rtt / 2, *ahead).wall_nanos;
            check.record(peer, at(100, 0), wall, at(100 + rtt, 0));
        }
        check
    }

    #[test]
    fn the_odd_one_of_three_is_off() {
        let now = at(200, 0);
        for (ahead, is_off) in [
            (&[0, 0][..], false),
            (&[499, -499], false),
            (&[600, 0], false),
            (&[600, 600], true),
            (&[-600, -600], true),
            (&[600, -600], true),
            (&[600], false),
            (&[], false),
            (&[600, 600, 0, 0], false),
            (&[600, 600, 600, 0], true),
        ] {
            assert_eq!(check(ahead, 10).is_off(now), is_off, "{ahead:?}");
        }
    }

    #[test]
    fn peers_that_differ_are_named() {
        let check = check(&[700, 0, -2_000], 20);
        let different: Vec<_> = check.deviating(at(200, 0)).collect();
        let names = ["peer-0", "peer-2"].map(NodeName::from);
        assert_eq!(different, [(&names[0], 690), (&names[1], 1_990)]);
    }

    #[test]
    fn a_slow_answer_proves_less() {
        assert!(check(&[700, 700], 100).is_off(at(500, 0)));
        assert!(!check(&[700, 700], 1_000).is_off(at(1_100, 0)));
    }

    #[test]
    fn a_clock_that_is_set_is_off_at_once_and_right_again() {
        let check = check(&[0, 0], 10);
        assert!(!check.is_off(at(200, 400)));
        assert!(check.is_off(at(200, 600)));
        assert!(check.is_off(at(200, -600)));
        assert!(!check.is_off(at(200, 0)));
    }

    #[test]
    fn what_was_heard_long_ago_does_not_count() {
        let check = check(&[600, 600], 10);
        assert!(check.is_off(at(59_000, 0)));
        assert!(!check.is_off(at(61_000, 0)));
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_once() {
        let mut detector = ClockStepDetector::default();
        let samples = [
            (0, 0),
            (10, 0),
            (20, 3_600_000),
            (30, 3_600_000),
            (40, 3_599_900),
        ];
        let noticed = samples.map(|(millis, ahead)| detector.has_stepped(at(millis, ahead)));
        assert_eq!(noticed, [false, false, true, false, true]);
    }
}
