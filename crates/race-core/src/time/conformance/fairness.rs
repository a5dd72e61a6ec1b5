use core::{
    future::{pending, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use super::{SHORT, watched::watched};
use crate::{Race, Timer};

/// Checks that a busy attempt starves neither the timer nor other attempts, and that a timer which
/// is always due starves no attempt. `make` returns a new timer.
///
/// `busy` returns a future that never ends and does as much work in each poll as its runtime
/// allows; on tokio it uses up the cooperative budget. Such a future keeps its task awake, so a
/// clock that moves only when all tasks are idle, such as a `VirtualClock` or a paused one, would
/// never move. On these, pass a future that sleeps for short times instead.
///
/// # Panics
///
/// Panics if the timer or an attempt starves.
pub async fn fairness<T, F>(make: impl Fn() -> T, busy: impl Fn() -> F)
where
    T: Timer + Unpin,
    F: Future<Output = ()>,
{
    // Attempt 0 is busy. Attempt 1 is due after a delay and ends at once.
    let attempts = (0..2).map(|index| {
        let busy = (index == 0).then(&busy);
        async move {
            if let Some(busy) = busy {
                busy.await;
            }
        }
    });
    let mut first = pin!(Race::at(make()).of(SHORT, attempts).first());
    let rule = "a busy attempt must not starve the timer";
    let won = watched(rule, first.as_mut()).await;
    assert_eq!(won.map(|won| won.index), Some(1));

    // A start is due in every poll, and attempt 0 needs many polls.
    let attempts = (0u64..).map(|index| async move {
        match index {
            0 => {
                for _ in 0..100 {
                    yield_now().await;
                }
            }
            _ => pending().await,
        }
    });
    let race = Race::at(make()).of(Duration::from_nanos(1), attempts);
    let mut first = pin!(race.max_in_flight(10_000).first());
    let rule = "a timer that is always due must not starve the attempts";
    let won = watched(rule, first.as_mut()).await;
    assert_eq!(won.map(|won| won.index), Some(0));
}

async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if core::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
