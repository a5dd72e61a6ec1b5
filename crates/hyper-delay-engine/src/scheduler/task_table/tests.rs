use std::time::Duration;

use race_wheel::Tick;

use super::*;

fn now(wall_millis: u64) -> Now {
    Now {
        wall_nanos: wall_millis * 1_000_000,
        monotonic: Tick::new(wall_millis * 1_000_000),
    }
}

fn task(at: u64) -> TaskInMemory {
    TaskInMemory::new("route".into(), "id".into(), at, 0)
}

fn timers() -> Timers {
    Timers::new(1_000_000)
}

#[test]
fn a_waiting_task_comes_due_at_its_time_and_not_before() {
    let (mut tasks, mut timers) = (TaskTable::default(), timers());
    tasks.insert_waiting(1, task(500), DueBy::Wall, now(100), &mut timers);
    assert_eq!(tasks.waiting(), 1);
    assert!(
        !tasks.come_due(1, now(499), &mut timers),
        "the clock was set back"
    );
    assert_eq!(tasks.waiting(), 1);
    assert!(tasks.come_due(1, now(500), &mut timers));
    assert_eq!(tasks.waiting(), 0);
    assert!(
        !tasks.come_due(1, now(500), &mut timers),
        "it is due already"
    );
}

#[test]
fn a_change_that_another_one_replaced_ends_nothing() {
    let (mut tasks, mut timers) = (TaskTable::default(), timers());
    tasks.insert_due(1, task(0));
    tasks.commit(1, PendingChange::Retry, &mut timers);
    let left = tasks.commit(1, PendingChange::Finish, &mut timers);
    assert!(matches!(
        left,
        Some(PreviousState::Committing(PendingChange::Retry))
    ));
    assert!(tasks.take_committed(1, PendingChange::Retry).is_none());
    assert!(tasks.contains(1));
    assert!(tasks.take_committed(1, PendingChange::Finish).is_some());
    assert_eq!(tasks.len(), 0);
}

#[test]
fn the_timers_of_a_task_go_with_it() {
    let (mut tasks, mut timers) = (TaskTable::default(), timers());
    tasks.insert_waiting(1, task(500), DueBy::Wall, now(100), &mut timers);
    tasks.insert_due(2, task(0));
    let hedge = Some(Duration::from_millis(5));
    let times = (Tick::ZERO, Duration::from_nanos(1 << 40));
    let mut round = Round::begin(2, 9, times, hedge, &mut timers);
    round.step(2, Tick::ZERO, &mut timers);
    tasks.begin_round(2, round);
    assert_eq!(timers.len(), 3);
    tasks.remove(1, &mut timers);
    let left = tasks.remove(2, &mut timers);
    assert!(matches!(left, Some((_, PreviousState::Round(_)))));
    assert!(timers.is_empty());
    assert_eq!((tasks.len(), tasks.waiting()), (0, 0));
}

#[test]
fn the_later_half_is_evicted() {
    let (mut tasks, mut timers) = (TaskTable::default(), timers());
    for seq in 0..10 {
        tasks.insert_waiting(seq, task(1000 - seq), DueBy::Wall, now(0), &mut timers);
    }
    let first = tasks.evict_later_half(&mut timers).unwrap();
    assert_eq!((first.at, first.seq), (996, 4));
    assert_eq!((tasks.waiting(), timers.len()), (5, 5));
    assert!(tasks.contains(5) && !tasks.contains(4));
}
