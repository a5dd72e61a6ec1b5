//! Bulk operations that move tasks.

use std::sync::Arc;

use super::world::{World, failure, schedule};
use crate::ledger::{
    Actor, AuditedOp, LedgerView, NewBulkJob, Op, Outcome, Sweep, SweepAct, SweepMove, Unmoved,
};
use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, Filter, TaskState, Terms};
use hyper_delay_store::{
    Durability,
    record::{BulkJob, Place},
};

const NOW: u64 = 10_000;

fn begin(world: &mut World, moves: BulkMove, filter: Filter) -> u64 {
    let bulk = Op::BeginBulk(Box::new(NewBulkJob {
        act: BulkAct::Move(moves),
        route: "r".into(),
        filter,
        in_flight: false,
        at: NOW,
        actor: Actor::default(),
    }));
    let audited = AuditedOp {
        op: bulk,
        actor: Actor::default(),
    };
    match world.apply(&Op::Audited(Box::new(audited))) {
        Outcome::BulkBegun(job) => job,
        other => panic!("{other:?}"),
    }
}

fn sweep(world: &mut World, job: u64, to: BulkMoveTo, id: &str) -> Outcome {
    let revision = world.revision("r", id);
    world.apply(&Op::Sweep(Sweep {
        job: Some(job),
        route: "r".into(),
        id: id.into(),
        seq: revision.seq,
        act: SweepAct::Move(SweepMove {
            to,
            now: NOW,
            latest: NOW + 1_000,
        }),
    }))
}

/// Moves the task of a new job. Returns when it is due.
fn moved(world: &mut World, moves: BulkMove, filter: &Filter, id: &str) -> Result<u64, Unmoved> {
    let job = begin(world, moves, filter.clone());
    match sweep(world, job, moves.to, id) {
        Outcome::Moved(moved) => Ok(moved.due),
        Outcome::NotMoved(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn job(world: &World, id: u64) -> BulkJob {
    let jobs = LedgerView::new(world.store.clone()).jobs().unwrap();
    jobs.into_iter().find(|(found, _)| *found == id).unwrap().1
}

fn place(world: &World, id: &str) -> Place {
    let view = LedgerView::new(world.store.clone());
    view.name("r", id).unwrap().unwrap().place
}

#[test]
fn a_task_that_was_moved_is_not_moved_again_by_a_batch_that_is_repeated() {
    let mut world = World::new();
    for id in ["a", "b", "c"] {
        world.apply(&schedule("r", id, NOW + 10, b"", false));
    }
    let to = BulkMoveTo::Later(7);
    let moves = BulkMove { to, state: None };
    let id = begin(&mut world, moves, Filter::default());
    for task in ["a", "b"] {
        assert!(matches!(sweep(&mut world, id, to, task), Outcome::Moved(_)));
    }
    world.commit(Durability::Synced);
    // The end of the batch is lost: the operation continues after the last task that it has moved.
    let world = world.after_power_loss(0);
    let stored = job(&world, id);
    assert_eq!((stored.changed, &*stored.cursor), (2, &b"b"[..]));
    assert_eq!(place(&world, "b"), Place::Waiting(NOW + 17));
    assert_eq!(stored.act(), BulkAct::Move(moves));
}

#[test]
fn only_tasks_that_match_when_the_operation_comes_to_them_are_moved() {
    let mut world = World::new();
    for id in ["waiting", "parked", "retrying", "unreasoned", "dead"] {
        world.apply(&schedule("r", id, NOW + 10, b"", false));
    }
    world.apply(&Op::Park(world.revision("r", "parked")));
    for (id, reason) in [("retrying", Some("no disk")), ("unreasoned", None)] {
        world.apply(&Op::Retry {
            revision: world.revision("r", id),
            at: NOW + 20,
            attempt: 1,
            failures: 1,
            failure: Some(failure(NOW, reason)),
        });
    }
    world.apply(&Op::Bury {
        revision: world.revision("r", "dead"),
        at: NOW + 10,
        attempt: 1,
        failures: 1,
        reason: None,
        failure: Some(failure(NOW, Some("no disk"))),
    });
    world.commit(Durability::Synced);
    let filter = |reason: Option<&str>, from, until| Filter {
        reason: reason.map(Arc::from),
        from,
        until,
    };
    let all = filter(None, None, None);
    let no_disk = filter(Some("no disk"), None, None);
    let unreasoned = filter(Some(""), None, None);
    let (late, early) = (
        filter(None, Some(NOW + 11), None),
        filter(None, None, Some(NOW + 20)),
    );
    for (state, filter, ids) in [
        (
            None,
            &all,
            &["waiting", "parked", "retrying", "unreasoned"][..],
        ),
        (
            Some(TaskState::Waiting),
            &all,
            &["waiting", "retrying", "unreasoned"],
        ),
        (Some(TaskState::Parked), &all, &["parked"]),
        (Some(TaskState::Retrying), &all, &["retrying", "unreasoned"]),
        (Some(TaskState::Retrying), &no_disk, &["retrying"]),
        (Some(TaskState::Waiting), &no_disk, &["retrying"]),
        (Some(TaskState::Parked), &no_disk, &[]),
        (None, &unreasoned, &["unreasoned"]),
        (None, &late, &["retrying", "unreasoned"]),
        (None, &early, &["waiting", "parked"]),
    ] {
        let mut found = Vec::new();
        for id in ["waiting", "parked", "retrying", "unreasoned", "dead"] {
            let mut world = world.after_power_loss(0);
            let to = BulkMoveTo::At(NOW + 500);
            if moved(&mut world, BulkMove { to, state }, filter, id).is_ok() {
                found.push(id);
            }
        }
        assert_eq!(found, ids, "{state:?} {filter:?}");
    }
}

#[test]
fn new_times_are_neither_past_nor_after_the_expiry() {
    let expires = Err(Unmoved::Expires(NOW + 100));
    let times = [
        (BulkMoveTo::Now, Ok(NOW)),
        (BulkMoveTo::At(NOW - 5), Ok(NOW)),
        (BulkMoveTo::At(NOW + 99), Ok(NOW + 99)),
        // It expires then.
        (BulkMoveTo::At(NOW + 100), expires),
        (BulkMoveTo::Later(89), Ok(NOW + 99)),
        (BulkMoveTo::Later(90), expires),
    ];
    for (to, due) in times {
        let mut world = World::new();
        let mut op = schedule("r", "a", NOW + 10, b"", false);
        if let Op::Schedule(order) = &mut op {
            order.terms = Some(Box::new(Terms {
                expires_at: Some(NOW + 100),
                ..Terms::default()
            }));
        }
        world.apply(&op);
        let moves = BulkMove { to, state: None };
        assert_eq!(
            moved(&mut world, moves, &Filter::default(), "a"),
            due,
            "{to:?}"
        );
    }
    // What is due already stays, and so does what would be due too late.
    let (already_there, out_of_range) = (Unmoved::AlreadyThere, Unmoved::OutOfRange);
    for (at, to, reason) in [
        (NOW - 50, BulkMoveTo::Now, already_there),
        (NOW - 50, BulkMoveTo::At(NOW), already_there),
        (NOW - 50, BulkMoveTo::Later(50), out_of_range),
        (NOW + 10, BulkMoveTo::At(NOW + 10), already_there),
        (NOW + 10, BulkMoveTo::Later(991), out_of_range),
        (NOW + 10, BulkMoveTo::Later(u64::MAX), out_of_range),
    ] {
        let mut world = World::new();
        world.apply(&schedule("r", "a", at, b"", false));
        let moves = BulkMove { to, state: None };
        assert_eq!(
            moved(&mut world, moves, &Filter::default(), "a"),
            Err(reason),
            "{to:?}"
        );
    }
}

#[test]
fn a_job_that_is_unknown_moves_nothing() {
    let mut world = World::new();
    world.apply(&schedule("r", "a", NOW + 10, b"", false));
    let to = BulkMoveTo::Now;
    let outcome = sweep(&mut world, 99, to, "a");
    assert_eq!(outcome, Outcome::NotMoved(Unmoved::Unselected));
}
