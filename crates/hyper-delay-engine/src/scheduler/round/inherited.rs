use super::{CopyWith, GivenBack};
use crate::scheduler::{ConsumerId, inherited::Legacy};

/// The copies of a round of which connections may have some that this leader does not know of: an
/// earlier leader has sent them, or the node of a connection cannot be reached. This leader sends no
/// more of them.
#[derive(Debug)]
pub(super) struct InheritedCopies {
    copies: Vec<CopyWith>,
    /// How many copies connections have reported, and how many were in flight at a hand-over: if
    /// those are more, some connection that has not reported yet has the rest.
    adopted: u32,
    withheld: u32,
    /// The number of the round before.
    after: u32,
    /// How the round has failed so far, if a copy has.
    given_back: Option<GivenBack>,
    /// This leader has begun the round.
    is_own: bool,
}

impl InheritedCopies {
    /// The copies of the round after the one with the number `after`, of which `live` are
    /// unanswered.
    pub(super) fn new(legacy: &Legacy, live: Vec<ConsumerId>, after: u32) -> Self {
        let failed = legacy.failures_after(after);
        let given_back = legacy.given_back().filter(|_| failed > 0).cloned();
        let adopted = u32::try_from(live.len()).unwrap_or(u32::MAX);
        let copy = |consumer| CopyWith {
            consumer,
            is_live: true,
        };
        Self {
            copies: live.into_iter().map(copy).collect(),
            adopted: adopted.saturating_add(failed),
            withheld: legacy.withheld(),
            after,
            given_back,
            is_own: false,
        }
    }

    /// The copies of a round of this leader, after the one with the number `after`: those of a
    /// consumer that cannot be reached, and `others`. `given_back` says how those have failed, if one
    /// has.
    pub(super) fn own(after: u32, others: Vec<CopyWith>, given_back: Option<GivenBack>) -> Self {
        let adopted = u32::try_from(others.len()).unwrap_or(u32::MAX);
        Self {
            copies: others,
            adopted,
            withheld: adopted.saturating_add(1),
            after,
            given_back,
            is_own: true,
        }
    }

    pub(super) fn copies(&self) -> &[CopyWith] {
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
    pub(super) const fn after(&self) -> u32 {
        self.after
    }

    /// Whether an earlier leader began the round and no connection has reported a copy.
    pub(super) fn is_unknown(&self) -> bool {
        !self.is_own && !self.is_live() && self.given_back.is_none()
    }

    /// Whether all copies are gone and none has failed: no connection has had one, as far as is known.
    pub(super) fn is_lost(&self) -> bool {
        !self.is_live() && self.missing() == 0 && self.given_back.is_none()
    }

    /// A connection has a copy with that number. Returns false if that is of an earlier round.
    pub(super) fn adopt(&mut self, consumer: ConsumerId, attempt: u32) -> bool {
        // A round of this leader has no later one of another leader.
        let is_later = self.is_own && attempt > self.after + 1;
        let is_of_round = attempt > self.after && !is_later;
        if is_of_round {
            self.copies.push(CopyWith {
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
    pub(super) fn gone(&mut self, attempt: u32, has_failed: bool) -> bool {
        let is_of_round = attempt > self.after && self.missing() > 0;
        if is_of_round {
            self.withheld -= 1;
            // What a nack said before says more than that a connection is gone.
            let is_failed = self.given_back.as_ref().is_some_and(GivenBack::has_failed);
            if has_failed && !is_failed {
                GivenBack::default().join(&mut self.given_back);
            }
        }
        is_of_round
    }

    /// A consumer cannot be reached, and may have its copy.
    pub(super) fn detach(&mut self, consumer: ConsumerId) {
        let is_it = |copy: &CopyWith| copy.is_live && copy.consumer == consumer;
        if let Some(place) = self.copies.iter().position(is_it) {
            self.copies.swap_remove(place);
            self.withheld = self.withheld.max(self.adopted);
            self.adopted = self.adopted.saturating_sub(1);
        }
    }

    /// The copy of a consumer was never sent.
    pub(super) fn void(&mut self, consumer: ConsumerId) {
        let is_it = |copy: &CopyWith| copy.is_live && copy.consumer == consumer;
        if let Some(place) = self.copies.iter().position(is_it) {
            self.copies.swap_remove(place);
        }
    }

    /// The copy of a consumer has failed. Returns false if it has no live copy.
    pub(super) fn fail(&mut self, consumer: ConsumerId, given_back: GivenBack) -> bool {
        let mut copies = self.copies.iter_mut();
        let Some(copy) = copies.find(|copy| copy.is_live && copy.consumer == consumer) else {
            return false;
        };
        copy.is_live = false;
        given_back.join(&mut self.given_back);
        true
    }

    /// How the round has failed, if it has: every copy has, and there are no others.
    pub(super) fn failure(&self) -> Option<GivenBack> {
        let is_over = !self.is_live() && self.missing() == 0;
        is_over.then(|| self.given_back.clone().unwrap_or_default())
    }
}
