//! What schedulers are lent.

use super::*;

/// Its scheduler has it no longer, and may not get it back.
#[test]
fn a_shard_keeps_nothing_for_a_route_that_only_an_unanswered_schedule_needs() {
    let mut front = front(&Config::default());
    let first = schedule(&mut front, ONE).unwrap();
    let shard = front.shard_of(&first.route);
    let own = first.route;
    let registration = front.accepted(ONE, first.pending).unwrap();
    front.accepted(ONE, registration.pending);
    let in_vain = front.unregister(ONE, &own);
    let second = schedule(&mut front, ONE).unwrap();
    front.refused(ONE, in_vain);
    front.begin_loan_once(ONE, shard);
    let credit = Config::default().credit;
    assert_eq!(front.balance(ONE), [LoanChange::Lend(shard, credit)]);
    front.replaced(ONE, &own);
    assert!(front.has_route(ONE, &own), "the second schedule needs it");
    assert_eq!(front.balance(ONE), [LoanChange::Recall(shard, credit)]);
    front.refused(ONE, second.pending);
    assert!(!front.has_route(ONE, &own));
    assert_eq!(front.balance(ONE), []);
}
