//! Counts of the tasks that a bulk operation would move.

use super::*;
use hyper_delay_engine::{
    ledger::{Ledger, Op, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_protocol::{BulkMoveTo, Compression, Headers, LastFailure};
use hyper_delay_store::{Durability, fake::Fake};

const START: u64 = 10_000;

/// A store with this many tasks of the routes `a` and `b` by turns. Every second one of a route is
/// parked, and of each two of those the second one has failed, with a reason.
fn stored(tasks: u64) -> Arc<Fake> {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
    for number in 0..tasks {
        let route: Arc<str> = ["a", "b"][(number % 2) as usize].into();
        let (id, at): (Arc<str>, _) = (number.to_string().into(), START + number);
        let order = ScheduleOrder {
            route: route.clone(),
            id: id.clone(),
            named: true,
            at,
            fire_at: at,
            delay_ms: None,
            compression: Compression::None,
            payload: (*b"hello").into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        };
        ledger.apply(&Op::Schedule(order), 0).unwrap();
        let revision = TaskRevision {
            route,
            id,
            seq: number + 1,
            attempt: 1,
        };
        if number / 4 % 2 == 1 {
            let failure = LastFailure {
                at: 900,
                kind: FailureKind::Nack,
                reason: Some("down".into()),
            };
            let retry = Op::Retry {
                revision: revision.clone(),
                at,
                attempt: 1,
                failures: 1,
                failure: Some(Box::new(failure)),
            };
            ledger.apply(&retry, 0).unwrap();
        }
        if number / 2 % 2 == 1 {
            ledger.apply(&Op::Park(revision), 0).unwrap();
        }
    }
    ledger.commit(Durability::Written, 0).unwrap();
    store
}

/// Returns the number of tasks, and whether there may be more.
fn count(store: &Arc<Fake>, state: Option<TaskState>, filter: &Filter) -> (u64, bool) {
    let to = BulkMoveTo::Now;
    let request = BulkRequest {
        act: BulkAct::Move(BulkMove { to, state }),
        route: "a".into(),
        filter: filter.clone(),
        in_flight: false,
    };
    let before = store.calls().keys;
    let reply = count_matching(&LedgerView::new(store.clone()), request).unwrap();
    let read = store.calls().keys - before;
    // The keys that end a range are read, too.
    assert!(
        read <= MAX_READS + 4,
        "{read} keys for {state:?} {filter:?}"
    );
    match reply {
        Reply::Count { tasks, more, .. } => (tasks, more),
        other => panic!("{other:?}"),
    }
}

#[test]
fn movable_tasks_are_counted_by_state_reason_and_time() {
    let store = stored(80);
    let reason = |reason: &str| Filter {
        reason: Some(reason.into()),
        ..Filter::default()
    };
    let early = Filter {
        until: Some(START + 40),
        ..Filter::default()
    };
    let late_and_down = Filter {
        from: Some(START + 40),
        ..reason("down")
    };
    let (waiting, parked) = (Some(TaskState::Waiting), Some(TaskState::Parked));
    let retrying = Some(TaskState::Retrying);
    for (state, filter, tasks) in [
        (None, Filter::default(), 40),
        (waiting, Filter::default(), 20),
        (parked, Filter::default(), 20),
        (retrying, Filter::default(), 20),
        (None, early.clone(), 20),
        (waiting, early.clone(), 10),
        (parked, early.clone(), 10),
        (retrying, early, 10),
        (None, reason("down"), 20),
        (waiting, reason("down"), 10),
        (parked, reason("down"), 10),
        (retrying, reason("down"), 20),
        (None, reason(""), 0),
        (None, late_and_down, 10),
    ] {
        assert_eq!(
            count(&store, state, &filter),
            (tasks, false),
            "{state:?} {filter:?}"
        );
    }
}

#[test]
fn of_many_tasks_some_are_counted() {
    let store = stored(20_000);
    let late = Filter {
        from: Some(START),
        ..Filter::default()
    };
    for state in [
        None,
        Some(TaskState::Waiting),
        Some(TaskState::Parked),
        Some(TaskState::Retrying),
    ] {
        let (tasks, more) = count(&store, state, &late);
        assert!(more && tasks > 0, "{state:?}: {tasks}");
        let (tasks, more) = count(&store, state, &Filter::default());
        let all = if state.is_none() { 10_000 } else { 5_000 };
        assert_eq!((tasks, more), (all, false));
    }
}
