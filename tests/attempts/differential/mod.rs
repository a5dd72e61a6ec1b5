//! `Attempts` and `FuturesUnordered` return the same outputs in the same random scripts.

use futures::{StreamExt, stream::FuturesUnordered};
use proptest::{collection::vec, prelude::*, sample::Index};
use race::Attempts;

use crate::cases;
use actor::finish;
use side::Side;

mod actor;
mod side;

/// An action between two rounds of polling.
#[derive(Clone, Debug)]
enum Act {
    /// Pushes this many futures.
    Push(usize),
    Wake(Index),
    /// Wakes every n-th future.
    WakeEvery(usize),
    Finish(Index),
    FinishEvery(usize),
    /// Makes a future ready after it has woken itself in this many polls.
    FinishAfter(Index, usize),
    /// Makes the first future make the second one ready when it is ready itself.
    Chain(Index, Index),
}

fn act() -> impl Strategy<Value = Act> {
    let index = any::<Index>;
    prop_oneof![
        2 => (1..20_usize).prop_map(Act::Push),
        4 => index().prop_map(Act::Wake),
        1 => (1..40_usize).prop_map(Act::WakeEvery),
        6 => index().prop_map(Act::Finish),
        1 => (2..40_usize).prop_map(Act::FinishEvery),
        3 => (index(), 1..5_usize).prop_map(|(one, polls)| Act::FinishAfter(one, polls)),
        3 => (index(), index()).prop_map(|(one, other)| Act::Chain(one, other)),
    ]
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn outputs_equal_those_of_futures_unordered(
        count in prop_oneof![2..65_usize, 55..70_usize, 120..130_usize, 65..200_usize],
        batches in vec(vec(act(), 0..12), 1..12),
    ) {
        let ours = Attempts::new().map(|(id, output)| { assert_eq!(id, output); output });
        let mut ours = Side::new(ours, |set, id, future| set.get_mut().push_with(id, future));
        let mut theirs = Side::new(FuturesUnordered::new(), |set, _, future| set.push(future));
        let mut all = vec![vec![Act::Push(count)]];
        all.extend(batches);
        for act in all {
            act.iter().for_each(|act| { ours.act(act); theirs.act(act); });
            prop_assert_eq!(ours.drain(), theirs.drain());
            prop_assert_eq!(&ours.living, &theirs.living);
            prop_assert_eq!(ours.set.get_ref().len(), theirs.set.len());
        }
        // The remaining futures still finish.
        let rest = ours.living.clone();
        rest.iter().for_each(|id| finish(&ours.actors, *id, 0));
        prop_assert_eq!(ours.drain(), rest);
    }
}
