use core::pin::pin;

use super::{
    HOUR, SHORT, poll_once, until,
    wakers::{move_to_other_task, woken},
};
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

    let mut original = pin!(make());
    let other = move_to_other_task(original.as_mut()).await;
    use_up(T::clone(&original)).await;
    woken("a clone must not disarm the original", &make, &other).await;

    let mut slot = pin!(Some(make()));
    let mut original = slot.as_mut().as_pin_mut().expect("it was just made");
    let later = original.now() + HOUR;
    let _ = poll_once(original.as_mut(), later).await;
    let mut clone = pin!(T::clone(&original));
    let other = move_to_other_task(clone.as_mut()).await;
    let _ = poll_once(original.as_mut(), later).await;
    original.disarm();
    slot.set(None);
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
    let mut original = pin!(make());
    let passed = original.now() + SHORT;
    until(original.as_mut(), passed).await;
    let mut clone = pin!(T::clone(&original));
    assert!(
        poll_once(clone.as_mut(), passed).await.is_ready(),
        "a clone is ready for a deadline that has passed"
    );

    // The clone waits less long than the original, which is armed.
    let start = original.now();
    let _ = poll_once(original.as_mut(), start + HOUR).await;
    let mut clone = pin!(T::clone(&original));
    until(clone.as_mut(), start + SHORT).await;
    assert!(
        poll_once(original.as_mut(), start + HOUR)
            .await
            .is_pending(),
        "the deadline of a clone is not that of the original"
    );
}

/// Arms, disarms and drops a timer.
async fn use_up<T: Timer>(timer: T) {
    let mut timer = pin!(timer);
    let deadline = timer.now() + HOUR;
    let _ = poll_once(timer.as_mut(), deadline).await;
    timer.disarm();
}
