use super::{CopyEnd, RoundCopy};
use crate::scheduler::{ConsumerId, inherited_deliveries::InheritedTask};

/// The copies of a round of which connections may have some that this leader does not know of: an
/// earlier leader has sent them, or the node of a connection cannot be reached. This leader sends no
/// more of them.
#[derive(Debug)]
pub(super) struct InheritedCopies {
    copies: Vec<RoundCopy>,
    /// How many copies connections have reported, and how many were in flight at a hand-over: if
    /// those are more, some connection that has not reported yet has the rest.
    adopted: u32,
    withheld: u32,
    /// The number of the round before.
    after: u32,
    /// How the round has failed so far, if a copy has.
    copy_end: Option<CopyEnd>,
    /// This leader has begun the round.
    is_own: bool,
}

impl InheritedCopies {
    /// The copies of the round after the one with the number `after`, of which `live` are
    /// unanswered.
    pub(super) fn new(inherited: &InheritedTask, live: Vec<ConsumerId>, after: u32) -> Self {
        let failed = inherited.failures_after(after);
        let copy_end = inherited.copy_end().filter(|_| failed > 0).cloned();
        let adopted = u32::try_from(live.len()).unwrap_or(u32::MAX);
        let copy = |consumer| RoundCopy {
            consumer,
            is_live: true,
        };
        Self {
            copies: live.into_iter().map(copy).collect(),
            adopted: adopted.saturating_add(failed),
            withheld: inherited.withheld(),
            after,
            copy_end,
            is_own: false,
        }
    }

    /// The copies of a round of this leader, after the one with the number `after`: those of a
    /// consumer that cannot be reached, and `others`. `copy_end` says how those have failed, if one
    /// has.
    pub(super) fn own(after: u32, others: Vec<RoundCopy>, copy_end: Option<CopyEnd>) -> Self {
        let adopted = u32::try_from(others.len()).unwrap_or(u32::MAX);
        Self {
            copies: others,
            adopted,
            withheld: adopted.saturating_add(1),
            after,
            copy_end,
            is_own: true,
        }
    }

    pub(super) fn copies(&self) -> &[RoundCopy] {
        &self.copies
    }

    fn is_live(&self) -> bool {
        self.copies.iter().any(|copy| copy.is_live)
    }

    /// How many copies no connection has reported.
    pub(super) const fn missing(&self) -> u32 {
        self.withheld.saturating_sub(self.adopted)
    }

    /// The number of the round before.
    pub(super) const fn previous_round(&self) -> u32 {
        self.after
    }

    /// Whether an earlier leader began the round and no connection has reported a copy.
    pub(super) fn is_unreported(&self) -> bool {
        !self.is_own && !self.is_live() && self.copy_end.is_none()
    }

    /// Whether all copies are gone and none has failed: no connection has had one, as far as is known.
    pub(super) fn is_lost(&self) -> bool {
        !self.is_live() && self.missing() == 0 && self.copy_end.is_none()
    }

    /// A connection has a copy with that number. Returns false if that is of an earlier round.
    pub(super) fn adopt(&mut self, consumer: ConsumerId, attempt: u32) -> bool {
        // A round of this leader has no later one of another leader.
        let is_later = self.is_own && attempt > self.after + 1;
        let is_of_round = attempt > self.after && !is_later;
        if is_of_round {
            self.copies.push(RoundCopy {
                consumer,
                is_live: true,
            });
            self.adopted += 1;
        }
        is_of_round
    }

    /// A copy was in flight at a hand-over.
    pub(super) const fn withhold(&mut self) {
        self.withheld += 1;
    }

    /// A copy with that number is gone that no connection has reported. Returns whether it is of
    /// this round.
    pub(super) fn remove_gone_copy(&mut self, attempt: u32, has_failed: bool) -> bool {
        let is_of_round = attempt > self.after && self.missing() > 0;
        if is_of_round {
            self.withheld -= 1;
            // What a nack said before says more than that a connection is gone.
            let is_failed = self.copy_end.as_ref().is_some_and(CopyEnd::is_failure);
            if has_failed && !is_failed {
                CopyEnd::default().merge_into(&mut self.copy_end);
            }
        }
        is_of_round
    }

    /// A consumer cannot be reached, and may have its copy.
    pub(super) fn detach(&mut self, consumer: ConsumerId) {
        let is_it = |copy: &RoundCopy| copy.is_live && copy.consumer == consumer;
        if let Some(place) = self.copies.iter().position(is_it) {
            self.copies.swap_remove(place);
            self.withheld = self.withheld.max(self.adopted);
            self.adopted = self.adopted.saturating_sub(1);
        }
    }

    /// The copy of a consumer was never sent.
    pub(super) fn void_copy(&mut self, consumer: ConsumerId) {
        let is_it = |copy: &RoundCopy| copy.is_live && copy.consumer == consumer;
        if let Some(place) = self.copies.iter().position(is_it) {
            self.copies.swap_remove(place);
        }
    }

    /// The copy of a consumer has failed. Returns false if it has no live copy.
    pub(super) fn fail(&mut self, consumer: ConsumerId, copy_end: CopyEnd) -> bool {
        let mut copies = self.copies.iter_mut();
        let Some(copy) = copies.find(|copy| copy.is_live && copy.consumer == consumer) else {
            return false;
        };
        copy.is_live = false;
        copy_end.merge_into(&mut self.copy_end);
        true
    }

    /// How the round has failed, if it has: every copy has, and there are no others.
    pub(super) fn failure(&self) -> Option<CopyEnd> {
        let is_over = !self.is_live() && self.missing() == 0;
        is_over.then(|| self.copy_end.clone().unwrap_or_default())
    }
}
