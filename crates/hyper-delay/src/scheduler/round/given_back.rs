use std::sync::Arc;

/// How a copy ended that was not acknowledged. Default: its connection is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::scheduler) struct GivenBack {
    /// The delay until the next round that the nack asked for, in milliseconds.
    pub(in crate::scheduler) delay_ms: Option<u64>,
    /// The reason that the nack gave.
    pub(in crate::scheduler) reason: Option<Arc<str>>,
    /// It is no failure: nothing of the copy was written, or the nack says so.
    pub(in crate::scheduler) is_unharmed: bool,
}

impl GivenBack {
    /// Nothing of the copy was written.
    pub(in crate::scheduler) fn unwritten() -> Self {
        Self {
            // For the dead letter, if there were too many of them.
            reason: Some("its consumers have taken no bytes of it".into()),
            is_unharmed: true,
            ..Self::default()
        }
    }

    /// Joins the end of a copy to those of the other copies of its round: the round has failed as the
    /// latest copy that has failed. It has not if all of its copies ended without harm.
    pub(in crate::scheduler) fn join(self, round: &mut Option<Self>) {
        let has_failed = round.as_ref().is_some_and(|before| !before.is_unharmed);
        if !(has_failed && self.is_unharmed) {
            *round = Some(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_fails_as_the_latest_copy_that_has_failed() {
        let nack = |delay_ms, is_unharmed| GivenBack {
            delay_ms: Some(delay_ms),
            reason: None,
            is_unharmed,
        };
        for (copies, round) in [
            (vec![], None),
            (vec![nack(1, false), nack(2, false)], Some(nack(2, false))),
            (vec![nack(1, true), nack(2, false)], Some(nack(2, false))),
            (vec![nack(1, false), nack(2, true)], Some(nack(1, false))),
            (vec![nack(1, true), nack(2, true)], Some(nack(2, true))),
        ] {
            let mut joined = None;
            for copy in copies.clone() {
                copy.join(&mut joined);
            }
            assert_eq!(joined, round, "{copies:?}");
        }
    }
}
