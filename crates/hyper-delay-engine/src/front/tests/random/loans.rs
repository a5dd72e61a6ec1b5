//! The schedulers of two shards, which are lent the credit of the connections.

use super::*;

/// What the schedulers have of the credit of a connection.
#[derive(Debug, Default)]
struct Loans {
    shards: [Loan; 2],
}

/// What one of them has.
#[derive(Debug, Default, Clone, Copy)]
struct Loan {
    /// It takes part: it was told of the connection, which has had a route of it since.
    is_open: bool,
    /// It has this, and keeps it.
    kept: u16,
    /// It has this, and is to return it.
    owed: u16,
    wants: bool,
}

/// Those of all connections.
#[derive(Debug, Default)]
pub(super) struct LoansOfAll(BTreeMap<ConsumerId, Loans>);

impl LoansOfAll {
    pub(super) fn forget(&mut self, connection: ConsumerId) {
        self.0.remove(&connection);
    }

    /// Returns what a connection has lent, with what is to come back.
    pub(super) fn lent(&self, connection: ConsumerId) -> u16 {
        let loans = self.0.get(&connection).into_iter();
        let shards = loans.flat_map(|loans| &loans.shards);
        shards.map(|loan| loan.kept + loan.owed).sum()
    }

    /// Something happens to a loan.
    pub(super) fn step(
        &mut self,
        random: &mut fastrand::Rng,
        front: &mut Front<Place>,
        connection: ConsumerId,
    ) {
        if !front.is_open(connection) {
            return;
        }
        let shard = random.usize(0..2);
        let id = ShardId(u16::try_from(shard).unwrap());
        let loan = &mut self.0.entry(connection).or_default().shards[shard];
        match random.u8(0..4) {
            0 if front.has_route_of(connection, id) => {
                front.begin_loan_once(connection, id);
                loan.is_open = true;
            }
            1 if loan.is_open => {
                front.credit_changed(connection, id, CreditChange::Wanted);
                loan.wants = true;
            }
            2 if loan.is_open => {
                front.credit_changed(connection, id, CreditChange::Unwanted);
                loan.wants = false;
            }
            _ => {
                let back = random.u16(0..=loan.owed);
                front.credit_changed(connection, id, CreditChange::Returned(back));
                loan.owed -= back;
            }
        }
    }

    /// Carries out what a connection lends and recalls. It may have `limit` in flight.
    pub(super) fn balance(&mut self, front: &mut Front<Place>, connection: ConsumerId, limit: u16) {
        let loans = self.0.entry(connection).or_default();
        for change in front.balance(connection) {
            match change {
                LoanChange::Lend(shard, credit) => {
                    let loan = &mut loans.shards[usize::from(shard.0)];
                    assert!(loan.is_open, "{change:?} to a shard that takes no part");
                    loan.kept += credit;
                    loan.wants = false;
                    let lent: u16 = loans.shards.iter().map(|it| it.kept + it.owed).sum();
                    assert!(lent <= limit, "{lent} are lent of {limit}");
                }
                LoanChange::Recall(shard, credit) => {
                    let loan = &mut loans.shards[usize::from(shard.0)];
                    loan.kept -= credit;
                    loan.owed += credit;
                }
            }
        }
        for (shard, loan) in (0..).map(ShardId).zip(&mut loans.shards) {
            loan.is_open &= front.has_route_of(connection, shard);
            assert!(loan.is_open || loan.kept == 0, "{loan:?} without a route");
        }
        let kept: u16 = loans.shards.iter().map(|it| it.kept).sum();
        assert!(kept <= limit, "{kept} are kept of {limit}");
        let is_settled = loans.shards.iter().all(|it| it.owed == 0);
        for loan in &loans.shards {
            let must_have = is_settled && limit >= 2 && loan.is_open && loan.wants;
            assert!(!must_have || loan.kept > 0, "it wants credit for ever");
        }
    }
}
