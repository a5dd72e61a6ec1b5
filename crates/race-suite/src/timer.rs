//! The contract of a timer.

use race_core::test::conformance;

use crate::{
    Target, WakerKind,
    check::Check,
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        timer_is_never_early,
        many_timers_wait_at_once,
        timer_is_level_triggered,
        never_does_not_pass,
        deadline_moves,
        timer_can_be_disarmed,
        armed_timer_can_be_dropped,
    );
    if X::WAKERS == WakerKind::Any {
        run!(suite:
            latest_waker_wins,
            timer_can_be_dropped_by_another_task,
            clones_are_independent,
        );
    }
    #[cfg(feature = "alloc")]
    if X::WAKERS == WakerKind::Any {
        run!(suite: nothing_starves);
    }
}

/// The functions of the suite, each by one of the module `conformance`.
macro_rules! rules {
    ($($name:ident: $rule:ident),+ $(,)?) => {
        $(async fn $name<X: Target>(check: &Check<'_, X>) {
            conformance::$rule(|| check.timer()).await;
        })+
    };
}

rules! {
    timer_is_never_early: never_early,
    many_timers_wait_at_once: many_at_once,
    timer_is_level_triggered: level_triggered,
    never_does_not_pass: never_is_never,
    deadline_moves: moved_deadline,
    timer_can_be_disarmed: disarmed,
    armed_timer_can_be_dropped: dropped_while_armed,
    latest_waker_wins: latest_waker_wins,
    timer_can_be_dropped_by_another_task: dropped_by_other_task,
    clones_are_independent: clones,
}

#[cfg(feature = "alloc")]
async fn nothing_starves<X: Target>(check: &Check<'_, X>) {
    // A clock that moves only when all tasks are idle needs attempts that sleep.
    let busy = || async {
        loop {
            check.sleep(1).await;
        }
    };
    conformance::fairness(|| check.timer(), busy).await;
}
