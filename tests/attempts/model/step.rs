use proptest::{prelude::*, sample::Index};

/// One step of a script. An index picks a future: a live one, one that is gone, or any.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Polls this many times.
    Poll(usize),
    /// Pushes this many futures.
    Push(usize),
    Wake(Index),
    /// Wakes this many in sequence.
    WakeMany(Index, usize),
    WakeGone(Index),
    Finish(Index),
    FinishUnwoken(Index),
    /// Makes a future wake itself in this many polls.
    WakeItselfInPolls(Index, usize),
    WakeAnotherInPoll(Index, Index),
    WakeAnotherInDrop(Index, Index),
    PanicInPoll(Index),
    PanicInDrop(Index),
    SwapParent,
    DropSet,
}

/// Generates a step, with up to `pushes` pushes at once.
pub(crate) fn step(pushes: usize) -> impl Strategy<Value = Step> {
    let parts = (0..100_u8, any::<Index>(), any::<Index>(), 0..200_usize);
    parts.prop_map(move |(kind, one, other, times)| match kind {
        0..24 => Step::Poll(1),
        24 => Step::Poll(times / 4),
        25..36 => Step::Push(1 + times % pushes),
        36..44 => Step::Wake(one),
        44..50 => Step::WakeMany(one, times / 10),
        50..57 => Step::WakeGone(one),
        57..69 => Step::Finish(one),
        69..72 => Step::FinishUnwoken(one),
        72..75 => Step::WakeItselfInPolls(one, 1),
        75..78 => Step::WakeItselfInPolls(one, times),
        78..83 => Step::WakeAnotherInPoll(one, other),
        83..88 => Step::WakeAnotherInDrop(one, other),
        88..92 => Step::PanicInPoll(one),
        92..96 => Step::PanicInDrop(one),
        96..99 => Step::SwapParent,
        _ => Step::DropSet,
    })
}
