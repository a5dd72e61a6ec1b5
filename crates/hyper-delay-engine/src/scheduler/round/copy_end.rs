use std::sync::Arc;

use hyper_delay_protocol::{FailureKind, LastFailure};

/// The end of a copy that was not acknowledged. Default: its connection is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scheduler) struct CopyEnd {
    /// The delay until the next round that the nack asked for, in milliseconds.
    pub(in crate::scheduler) delay_ms: Option<u64>,
    /// The reason that the nack gave.
    pub(in crate::scheduler) reason: Option<Arc<str>>,
    pub(in crate::scheduler) kind: CopyEndKind,
    /// What happened, if it counts as a failure.
    pub(in crate::scheduler) failure: FailureKind,
}

impl Default for CopyEnd {
    fn default() -> Self {
        Self {
            delay_ms: None,
            reason: None,
            kind: CopyEndKind::Failed,
            failure: FailureKind::ConnectionLost,
        }
    }
}

/// The kind of a copy's end. The greatest kind among its copies decides about a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::scheduler) enum CopyEndKind {
    /// No failure: nothing of the copy was written.
    Unwritten,
    /// No failure: the nack declined the copy.
    Declined,
    /// A failure.
    Failed,
}

impl CopyEndKind {
    /// The end of a nack.
    pub(in crate::scheduler) const fn of_nack(failed: bool) -> Self {
        match failed {
            true => Self::Failed,
            false => Self::Declined,
        }
    }
}

impl CopyEnd {
    /// Nothing of the copy was written. `reason` is for the dead letter, if there were too many of
    /// these ends.
    fn unsent(reason: &str) -> Self {
        Self {
            reason: Some(reason.into()),
            kind: CopyEndKind::Unwritten,
            ..Self::default()
        }
    }

    /// The consumer did not answer in time.
    pub(in crate::scheduler) fn timed_out() -> Self {
        Self {
            failure: FailureKind::AckTimeout,
            ..Self::default()
        }
    }

    /// The copy cannot be made for its consumer.
    pub(in crate::scheduler) fn undeliverable(reason: Arc<str>) -> Self {
        Self {
            reason: Some(reason),
            failure: FailureKind::Target,
            ..Self::default()
        }
    }

    /// What is kept of it as the last failure of the task, `at` in Unix milliseconds.
    pub(in crate::scheduler) fn into_failure(self, at: u64) -> Box<LastFailure> {
        Box::new(LastFailure {
            at,
            kind: self.failure,
            reason: self.reason,
        })
    }

    /// The connection has taken nothing of the copy.
    pub(in crate::scheduler) fn unwritten() -> Self {
        Self::unsent("its consumers have taken no bytes of it")
    }

    /// The copy was not written, as another node could lead by then.
    pub(in crate::scheduler) fn void() -> Self {
        Self::unsent("its leader was in doubt each time when it was due to be written")
    }

    /// Whether it is a failure.
    pub(in crate::scheduler) fn is_failure(&self) -> bool {
        self.kind == CopyEndKind::Failed
    }

    /// Joins the end of a copy to those of the other copies of its round: the round has ended as the
    /// latest copy that has failed; without one, as the latest that a nack gave back.
    pub(in crate::scheduler) fn merge_into(self, round: &mut Option<Self>) {
        let is_less = |before: &Self| self.kind < before.kind;
        if !round.as_ref().is_some_and(is_less) {
            *round = Some(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_as_its_latest_copy_of_the_worst_kind() {
        use CopyEndKind::{Declined, Failed, Unwritten};
        let end = |delay_ms, kind| CopyEnd {
            delay_ms: Some(delay_ms),
            kind,
            ..CopyEnd::default()
        };
        for (copies, round) in [
            (&[][..], None),
            (&[(1, Failed), (2, Failed)], Some((2, Failed))),
            (&[(1, Declined), (2, Failed)], Some((2, Failed))),
            (&[(1, Failed), (2, Declined)], Some((1, Failed))),
            (&[(1, Declined), (2, Declined)], Some((2, Declined))),
            (&[(1, Declined), (2, Unwritten)], Some((1, Declined))),
            (&[(1, Unwritten), (2, Declined)], Some((2, Declined))),
            (&[(1, Unwritten), (2, Unwritten)], Some((2, Unwritten))),
            (&[(1, Failed), (2, Unwritten)], Some((1, Failed))),
        ] {
            let mut joined = None;
            for (delay, kind) in copies {
                end(*delay, *kind).merge_into(&mut joined);
            }
            let round = round.map(|(delay, kind)| end(delay, kind));
            assert_eq!(joined, round, "{copies:?}");
        }
    }
}
