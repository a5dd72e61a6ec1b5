use alloc::boxed::Box;
use core::pin::Pin;

use super::{HOUR, SHORT, move_to_other_task, poll_once, until, woken};
use crate::Timer;

/// Checks that a clone of a timer is a fresh timer on the same clock: neither of the two changes
/// the deadline or the waker of the other. `make` returns a new timer.
///
/// # Panics
///
/// Panics if the timer and its clone are not independent; the message names the rule.
pub async fn clones<T: Timer + Clone>(make: impl Fn() -> T) {
    clone_has_the_same_clock(&make);
    clone_has_its_own_deadline(&make).await;

    let mut original = Box::pin(make());
    let other = move_to_other_task(original.as_mut()).await;
    use_up(Box::pin(T::clone(&original))).await;
    woken("a clone must not disarm the original", &make, &other).await;

    let mut original = Box::pin(make());
    let later = original.now() + HOUR;
    let _ = poll_once(original.as_mut(), later).await;
    let mut clone = Box::pin(T::clone(&original));
    let other = move_to_other_task(clone.as_mut()).await;
    use_up(original).await;
    woken("the original must not disarm a clone", &make, &other).await;
}

fn clone_has_the_same_clock<T: Timer + Clone>(make: &impl Fn() -> T) {
    let original = make();
    let before = original.now();
    let between = original.clone().now();
    let after = original.now();
    assert!(
        before <= between && between <= after,
        "a clone has the same clock: it read {between:?} between {before:?} and {after:?}"
    );
}

async fn clone_has_its_own_deadline<T: Timer + Clone>(make: &impl Fn() -> T) {
    let mut original = Box::pin(make());
    let passed = original.now() + SHORT;
    until(original.as_mut(), passed).await;
    let mut clone = Box::pin(T::clone(&original));
    assert!(
        poll_once(clone.as_mut(), passed).await.is_ready(),
        "a clone is ready for a deadline that has passed"
    );

    // The clone waits less long than the original, which is armed.
    let start = original.now();
    let _ = poll_once(original.as_mut(), start + HOUR).await;
    let mut clone = Box::pin(T::clone(&original));
    until(clone.as_mut(), start + SHORT).await;
    assert!(
        poll_once(original.as_mut(), start + HOUR)
            .await
            .is_pending(),
        "the deadline of a clone is not that of the original"
    );
}

/// Arms, disarms and drops a timer.
async fn use_up<T: Timer>(mut timer: Pin<Box<T>>) {
    let deadline = timer.now() + HOUR;
    let _ = poll_once(timer.as_mut(), deadline).await;
    timer.as_mut().disarm();
}
