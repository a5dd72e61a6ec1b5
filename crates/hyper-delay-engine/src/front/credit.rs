//! The credit of a connection, lent to shards.

use std::collections::BTreeMap;

use crate::shard::ShardId;

/// The credit of one connection, spread over the shards of which it has routes.
///
/// The leader of a shard gives the connection copies up to what it was lent. So a connection never
/// has more in flight than its credit, whatever the shards do, and nothing is asked before a
/// delivery. A shard that has more for the connection reports that it *wants* credit. It gets the
/// free credit, or what others give back: a share of what a shard holds that does not want more,
/// and of one that wants more, what it has beyond the one that asks. So a shard that has nothing for the
/// connection keeps no credit that another one needs.
#[derive(Debug)]
pub(super) struct CreditLoans {
    credit: u16,
    loans: BTreeMap<ShardId, CreditLoan>,
    /// The number of times that something was lent.
    turns: u64,
}

/// The credit that a shard was lent.
#[derive(Debug, Default)]
struct CreditLoan {
    /// The credit that it may use, or has not returned yet.
    lent: u16,
    /// The part of that which it was asked to return.
    recalled: u16,
    /// It has something for the connection, and no credit left.
    wants: bool,
    /// When it was lent something last.
    turn: u64,
    /// Nothing is lent to it: its leader is not known.
    is_closed: bool,
    /// Nothing is lent to it: the connection has no route of it.
    is_retired: bool,
}

impl CreditLoan {
    /// The credit that stays.
    const fn after_recall(&self) -> u16 {
        self.lent - self.recalled
    }

    /// Whether it can be lent something.
    const fn is_open(&self) -> bool {
        !self.is_closed && !self.is_retired
    }
}

/// A change of a loan, for the leader of the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoanChange {
    /// This much more.
    Lend(ShardId, u16),
    /// This much is to be returned.
    Recall(ShardId, u16),
}

impl CreditLoans {
    pub(super) const fn new(credit: u16) -> Self {
        Self {
            credit,
            loans: BTreeMap::new(),
            turns: 0,
        }
    }

    pub(super) const fn credit(&self) -> u16 {
        self.credit
    }

    /// Changes the credit. Balance afterwards.
    pub(super) fn set_credit(&mut self, credit: u16) {
        self.credit = credit;
    }

    /// A shard takes part, or its leader is known again. Copies from before use this much of its loan.
    /// Returns what to tell the leader, in this order. What is not free is recalled before it is lent,
    /// as the leader would use it for other copies if it knows that some of those have ended.
    pub(super) fn open(&mut self, shard: ShardId, used: u16) -> Vec<LoanChange> {
        self.loans.remove(&shard);
        let beyond = used.saturating_sub(self.free());
        self.loans.insert(
            shard,
            CreditLoan {
                lent: used,
                recalled: beyond,
                ..CreditLoan::default()
            },
        );
        let recall = (beyond > 0).then_some(LoanChange::Recall(shard, beyond));
        let lend = (used > 0).then_some(LoanChange::Lend(shard, used));
        recall.into_iter().chain(lend).collect()
    }

    /// A shard takes part, if it does not yet.
    pub(super) fn open_once(&mut self, shard: ShardId) {
        match self.loans.get_mut(&shard) {
            Some(loan) if !loan.is_closed => loan.is_retired = false,
            _ => {
                self.open(shard, 0);
            }
        }
    }

    /// The leader of a shard is not known any more: of its loan, only what is `used` counts.
    pub(super) fn close(&mut self, shard: ShardId, used: u16) {
        if let Some(loan) = self.loans.get_mut(&shard) {
            *loan = CreditLoan {
                lent: used,
                is_closed: true,
                ..CreditLoan::default()
            };
        }
    }

    /// A shard takes no part any more.
    pub(super) fn remove(&mut self, shard: ShardId) {
        self.loans.remove(&shard);
    }

    /// Returns whether a shard has a loan and its leader is not known.
    pub(super) fn is_closed(&self, shard: ShardId) -> bool {
        self.loans.get(&shard).is_some_and(|loan| loan.is_closed)
    }

    /// This much of the loan of a shard is used whose leader is not known. Returns whether that is
    /// news.
    pub(super) fn set_used(&mut self, shard: ShardId, used: u16) -> bool {
        let loan = self.loans.get_mut(&shard).filter(|loan| loan.is_closed);
        loan.is_some_and(|loan| std::mem::replace(&mut loan.lent, used) != used)
    }

    /// The connection has no route of a shard any more: everything is recalled. Whether the shard
    /// wants more is remembered, because its leader reports it once.
    pub(super) fn retire(&mut self, shard: ShardId) {
        if let Some(loan) = self.loans.get_mut(&shard) {
            loan.is_retired = true;
        }
    }

    /// A shard has something for the connection, and no credit left.
    pub(super) fn set_wanting(&mut self, shard: ShardId) {
        if let Some(loan) = self.loans.get_mut(&shard) {
            loan.wants = true;
        }
    }

    /// A shard has nothing more for the connection.
    pub(super) fn clear_wanting(&mut self, shard: ShardId) {
        if let Some(loan) = self.loans.get_mut(&shard) {
            loan.wants = false;
        }
    }

    /// A shard has returned credit.
    pub(super) fn returned(&mut self, shard: ShardId, credit: u16) {
        if let Some(loan) = self.loans.get_mut(&shard) {
            loan.lent = loan.lent.saturating_sub(credit);
            loan.recalled = loan.recalled.saturating_sub(credit);
        }
    }

    /// Lends what is free and recalls what others need.
    pub(super) fn balance(&mut self) -> Vec<LoanChange> {
        let mut changes = Vec::new();
        self.recall_excess(&mut changes);
        self.lend(&mut changes);
        self.recall(&mut changes);
        changes
    }

    fn lent(&self) -> u16 {
        let all = self.loans.values().map(|loan| loan.lent);
        all.fold(0, u16::saturating_add)
    }

    /// Whether the shards have more than the credit: it was lowered, and they have not returned the
    /// excess yet.
    pub(super) fn are_exceeded(&self) -> bool {
        self.lent() > self.credit
    }

    /// The credit that no shard has.
    fn free(&self) -> u16 {
        self.credit.saturating_sub(self.lent())
    }

    /// The credit of each shard if all have the same.
    fn share(&self) -> u16 {
        let shards = self.loans.values().filter(|loan| loan.is_open()).count();
        self.credit / u16::try_from(shards.max(1)).unwrap_or(u16::MAX)
    }

    /// Recalls what is lent beyond the credit, from those that have the most.
    fn recall_excess(&mut self, changes: &mut Vec<LoanChange>) {
        for (shard, loan) in &mut self.loans {
            if loan.is_retired && !loan.is_closed && loan.after_recall() > 0 {
                changes.push(LoanChange::Recall(*shard, loan.after_recall()));
                loan.recalled = loan.lent;
            }
        }
        let kept = self
            .loans
            .values()
            .map(|loan| u32::from(loan.after_recall()));
        let mut beyond = kept.sum::<u32>().saturating_sub(u32::from(self.credit));
        while beyond > 0 {
            let loans = self.loans.iter_mut().filter(|(_, loan)| !loan.is_closed);
            let Some((shard, loan)) = loans.max_by_key(|(_, loan)| loan.after_recall()) else {
                return;
            };
            let back = loan
                .after_recall()
                .min(u16::try_from(beyond).unwrap_or(u16::MAX));
            if back == 0 {
                return;
            }
            loan.recalled += back;
            beyond -= u32::from(back);
            changes.push(LoanChange::Recall(*shard, back));
        }
    }

    /// Lends what is free: first to those that want it, the one with the least first; then to those
    /// that have less than their share, so that a delivery need not wait for credit.
    fn lend(&mut self, changes: &mut Vec<LoanChange>) {
        let share = self.share().max(1);
        while self.free() > 0 {
            let free = self.free();
            let open = self.loans.iter_mut().filter(|(_, loan)| loan.is_open());
            let (wanting, idle): (Vec<_>, Vec<_>) = open.partition(|(_, loan)| loan.wants);
            let several = wanting.len() > 1;
            let wanting = wanting
                .into_iter()
                .min_by_key(|(_, loan)| (loan.lent, loan.turn));
            let next = wanting.map(|(shard, loan)| {
                let much = if several { share } else { free };
                (shard, loan, much)
            });
            let poor = idle.into_iter().filter(|(_, loan)| loan.lent < share);
            let poor = poor.min_by_key(|(_, loan)| loan.lent);
            let next = next.or_else(|| {
                poor.map(|(shard, loan)| {
                    let much = share - loan.lent;
                    (shard, loan, much)
                })
            });
            let Some((shard, loan, much)) = next else {
                return;
            };
            let credit = much.clamp(1, free);
            loan.lent += credit;
            loan.wants = false;
            self.turns += 1;
            loan.turn = self.turns;
            changes.push(LoanChange::Lend(*shard, credit));
        }
    }

    /// Recalls credit for a shard that wants some. What is on its way back can take as long as a
    /// copy is in flight, so others are asked meanwhile, each once.
    fn recall(&mut self, changes: &mut Vec<LoanChange>) {
        let wanting = self.loans.values();
        let wanting = wanting.filter(|loan| loan.wants && loan.is_open());
        let Some(has) = wanting.map(|loan| loan.lent).min() else {
            return;
        };
        let back = |loan: &CreditLoan| match loan.wants {
            true => loan.lent.saturating_sub(has) / 2 + u16::from(has == 0 && loan.lent == 1),
            false => loan.lent.div_ceil(2),
        };
        let asked = |loan: &CreditLoan| !loan.is_open() || loan.recalled > 0;
        let open = self.loans.iter_mut().filter(|(_, loan)| !asked(loan));
        let most = open.max_by_key(|(_, loan)| back(loan));
        if let Some((shard, loan)) = most {
            let back = back(loan);
            if back > 0 {
                loan.recalled += back;
                changes.push(LoanChange::Recall(*shard, back));
            }
        }
    }
}

#[cfg(test)]
mod tests;
