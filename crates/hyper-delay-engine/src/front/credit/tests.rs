use std::collections::BTreeMap;

use super::*;

impl CreditLoans {
    /// The credit that the shards have, without what they are to return.
    pub(in crate::front) fn kept(&self) -> u16 {
        self.loans.values().map(CreditLoan::after_recall).sum()
    }
}

const A: ShardId = ShardId(0);
const B: ShardId = ShardId(1);
const C: ShardId = ShardId(2);

#[test]
fn one_shard_gets_everything() {
    let mut lending = CreditLoans::new(10);
    lending.open(A, 0);
    assert_eq!(lending.balance(), [LoanChange::Lend(A, 10)]);
    assert_eq!(lending.balance(), []);
}

#[test]
fn a_second_shard_gets_what_the_first_does_not_need_when_it_wants_some() {
    let mut lending = CreditLoans::new(10);
    lending.open(A, 0);
    lending.balance();
    lending.open(B, 0);
    assert_eq!(lending.balance(), [], "everything is lent");
    lending.set_wanting(B);
    assert_eq!(lending.balance(), [LoanChange::Recall(A, 5)]);
    assert_eq!(lending.balance(), [], "it is on its way");
    lending.returned(A, 3);
    assert_eq!(lending.balance(), [LoanChange::Lend(B, 3)]);
    lending.returned(A, 2);
    assert_eq!(lending.balance(), [LoanChange::Lend(B, 2)]);
}

#[test]
fn with_less_credit_than_shards_it_goes_round() {
    let mut lending = CreditLoans::new(1);
    lending.open(A, 0);
    lending.open(B, 0);
    assert_eq!(lending.balance(), [LoanChange::Lend(A, 1)]);
    lending.set_wanting(B);
    assert_eq!(lending.balance(), [LoanChange::Recall(A, 1)]);
    lending.returned(A, 1);
    assert_eq!(lending.balance(), [LoanChange::Lend(B, 1)]);
    lending.set_wanting(A);
    assert_eq!(lending.balance(), [LoanChange::Recall(B, 1)]);
}

#[test]
fn a_lower_credit_is_recalled_and_a_higher_one_lent() {
    let mut lending = CreditLoans::new(10);
    lending.open(A, 0);
    lending.balance();
    lending.set_credit(4);
    assert_eq!(lending.balance(), [LoanChange::Recall(A, 6)]);
    lending.returned(A, 6);
    lending.set_credit(9);
    assert_eq!(lending.balance(), [LoanChange::Lend(A, 5)]);
}

#[test]
fn what_is_in_flight_counts_while_the_leader_is_not_known() {
    let mut lending = CreditLoans::new(10);
    lending.open(A, 0);
    lending.balance();
    lending.close(A, 7);
    lending.open(B, 0);
    assert_eq!(lending.balance(), [LoanChange::Lend(B, 3)]);
    lending.set_wanting(B);
    lending.set_used(A, 6);
    assert_eq!(lending.balance(), [LoanChange::Lend(B, 1)]);
    assert_eq!(lending.open(A, 6), [LoanChange::Lend(A, 6)]);
    assert_eq!(lending.balance(), []);
}

#[test]
fn what_is_in_flight_beyond_a_lower_credit_is_recalled_from_the_next_leader() {
    let mut lending = CreditLoans::new(10);
    for (shard, used) in [(A, 4), (B, 3)] {
        lending.open(shard, used);
    }
    lending.set_credit(5);
    lending.balance();
    lending.close(A, 4);
    let changes = lending.open(A, 4);
    assert_eq!(changes, [LoanChange::Recall(A, 2), LoanChange::Lend(A, 4)]);
    assert!(lending.are_exceeded(), "more than 5 are in flight");
    assert_eq!(lending.balance(), [], "it is on its way");
    lending.returned(A, 2);
    assert!(!lending.are_exceeded());
}

#[test]
fn a_shard_that_wants_credit_while_the_connection_has_no_route_of_it_gets_some_later() {
    for wants_before in [false, true] {
        let mut lending = CreditLoans::new(10);
        lending.open(A, 0);
        lending.balance();
        lending.open_once(B);
        if wants_before {
            lending.set_wanting(B);
        }
        lending.retire(B);
        if !wants_before {
            lending.set_wanting(B);
        }
        assert_eq!(lending.balance(), []);
        lending.open_once(B);
        assert_eq!(lending.balance(), [LoanChange::Recall(A, 5)]);
    }
}

/// A shard: what it was lent, has to return, uses, and what waits there.
#[derive(Debug, Default)]
struct Model {
    credit: u16,
    debt: u16,
    used: u16,
    waiting: u16,
    last_sent: bool,
    /// Its leader is not known.
    is_closed: bool,
}

impl Model {
    /// What its leader may use.
    fn kept(&self) -> u16 {
        match self.is_closed {
            true => 0,
            false => self.credit.saturating_sub(self.debt),
        }
    }

    /// Returns what it says: credit, and whether it wants some.
    fn step(&mut self) -> (u16, Option<bool>) {
        if self.is_closed {
            return (0, None);
        }
        let back = self.debt.min(self.credit.saturating_sub(self.used));
        self.credit -= back;
        self.debt -= back;
        let room = self.credit.saturating_sub(self.used + self.debt);
        let sent = room.min(self.waiting);
        self.used += sent;
        self.waiting -= sent;
        let wants = self.waiting > 0;
        let is_news = wants != self.last_sent;
        self.last_sent = wants;
        (back, is_news.then_some(wants))
    }

    fn lent(&mut self, credit: u16) {
        self.credit += credit;
        self.last_sent = false;
        let room = self.credit.saturating_sub(self.used + self.debt);
        let sent = room.min(self.waiting);
        self.used += sent;
        self.waiting -= sent;
    }
}

/// The leader of a shard is not known any more, or there is another one. That knows of some more copies
/// that they have ended.
fn change_leader(
    random: &mut fastrand::Rng,
    lending: &mut CreditLoans,
    shards: &mut BTreeMap<ShardId, Model>,
    id: ShardId,
) {
    let shard = shards.get_mut(&id).unwrap();
    if !shard.is_closed {
        lending.close(id, shard.used);
        shard.is_closed = true;
        return;
    }
    let changes = lending.open(id, shard.used);
    *shard = Model {
        used: random.u16(0..=shard.used),
        waiting: shard.waiting,
        ..Model::default()
    };
    carry_out(changes, shards);
}

fn carry_out(changes: Vec<LoanChange>, shards: &mut BTreeMap<ShardId, Model>) {
    for change in changes {
        match change {
            LoanChange::Lend(shard, credit) => shards.get_mut(&shard).unwrap().lent(credit),
            LoanChange::Recall(shard, credit) => shards.get_mut(&shard).unwrap().debt += credit,
        }
    }
}

#[test]
fn at_random_the_credit_is_kept_and_nothing_waits_forever() {
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let most = if random.bool() { 3 } else { 40 };
        let mut credit = random.u16(1..=most);
        let mut lending = CreditLoans::new(credit);
        let mut shards = BTreeMap::<_, Model>::new();
        for shard in [A, B, C] {
            lending.open(shard, 0);
            shards.insert(shard, Model::default());
        }
        let mut most = credit;
        for step in 0..3_000 {
            let is_end = step > 300;
            for (id, shard) in &mut shards {
                if !is_end {
                    shard.waiting += random.u16(0..4);
                }
                if is_end || random.bool() {
                    shard.used -= random.u16(0..=shard.used);
                }
                if shard.is_closed {
                    lending.set_used(*id, shard.used);
                }
                let (back, wants) = shard.step();
                if back > 0 {
                    lending.returned(*id, back);
                }
                match wants {
                    Some(true) => lending.set_wanting(*id),
                    Some(false) => lending.clear_wanting(*id),
                    None => {}
                }
            }
            if !is_end && random.u8(0..20) == 0 {
                credit = random.u16(1..=40);
                lending.set_credit(credit);
                most = most.max(credit);
            }
            for id in [A, B, C] {
                let changes = match is_end {
                    true => shards[&id].is_closed,
                    false => random.u8(0..60) == 0,
                };
                if changes {
                    change_leader(&mut random, &mut lending, &mut shards, id);
                }
            }
            carry_out(lending.balance(), &mut shards);
            let used: u16 = shards.values().map(|shard| shard.used).sum();
            assert!(used <= most, "seed {seed}: {used} of {most}");
            let kept: u16 = shards.values().map(Model::kept).sum();
            assert!(kept <= credit, "seed {seed}: {kept} are kept of {credit}");
            if is_end && shards.values().all(|shard| shard.waiting == 0) {
                break;
            }
        }
        let waiting: u16 = shards.values().map(|shard| shard.waiting).sum();
        assert_eq!(waiting, 0, "seed {seed}: {shards:?} {lending:?}");
    }
}

#[test]
fn shards_that_have_nothing_give_all_of_their_credit_to_one_that_wants_it() {
    let shards = [A, B, C];
    for credit in 1..20 {
        let mut lending = CreditLoans::new(credit);
        let mut lent = BTreeMap::new();
        for shard in shards {
            lending.open(shard, 0);
            for change in lending.balance() {
                if let LoanChange::Lend(shard, more) = change {
                    *lent.entry(shard).or_insert(0) += more;
                }
            }
        }
        // The shard has always more for the connection, and the others return what they are asked for.
        for _ in 0..100 {
            lending.set_wanting(B);
            for change in lending.balance() {
                match change {
                    LoanChange::Lend(shard, more) => *lent.entry(shard).or_insert(0) += more,
                    LoanChange::Recall(shard, back) => {
                        assert_ne!(shard, B);
                        *lent.get_mut(&shard).unwrap() -= back;
                        lending.returned(shard, back);
                    }
                }
            }
        }
        assert_eq!(lent.get(&B), Some(&credit), "{credit}: {lent:?}");
    }
}
