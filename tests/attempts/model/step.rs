use std::ops::Range;

use proptest::{prelude::*, sample::Index};

/// One step of a script. An index picks one of the living, or of those who are gone, or of all.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Poll,
    Push(usize),
    Wake(Index),
    WakeMany(Vec<Index>),
    WakeGone(Index),
    Finish(Index),
    FinishUnwoken(Index),
    WakeItselfInPoll(Index),
    WakeAnotherInPoll(Index, Index),
    WakeAnotherInDrop(Index, Index),
    PanicInPoll(Index),
    PanicInDrop(Index),
    SwapParent,
    DropSet,
}

/// Any step; of pushes, so many at once.
pub(crate) fn step(pushes: Range<usize>) -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        24 => Just(Step::Poll),
        10 => pushes.prop_map(Step::Push),
        8 => index().prop_map(Step::Wake),
        6 => proptest::collection::vec(index(), 1..20).prop_map(Step::WakeMany),
        6 => index().prop_map(Step::WakeGone),
        12 => index().prop_map(Step::Finish),
        2 => index().prop_map(Step::FinishUnwoken),
        5 => index().prop_map(Step::WakeItselfInPoll),
        5 => (index(), index()).prop_map(|(one, other)| Step::WakeAnotherInPoll(one, other)),
        5 => (index(), index()).prop_map(|(one, other)| Step::WakeAnotherInDrop(one, other)),
        4 => index().prop_map(Step::PanicInPoll),
        4 => index().prop_map(Step::PanicInDrop),
        3 => Just(Step::SwapParent),
        1 => Just(Step::DropSet),
    ]
}
