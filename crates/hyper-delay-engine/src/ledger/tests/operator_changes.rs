//! Bulk operations, pauses and the audit on disk.

use std::sync::Arc;

use super::world::{World, schedule};
use crate::{
    ledger::{
        Actor, AuditedOp, BulkAdvance, Ledger, LedgerView, NewBulkJob, Op, Outcome, Sweep, SweepAct,
    },
    sizes::Sizes,
};
use hyper_delay_protocol::{BulkAct, Filter};
use hyper_delay_store::{
    Durability,
    fake::Fake,
    record::{AuditLine, BulkJob, JobState, Place},
};

fn audited(op: Op) -> Op {
    let actor = Actor {
        by: Some("ops".into()),
        address: Some("127.0.0.1:9".parse().unwrap()),
    };
    Op::Audited(Box::new(AuditedOp { op, actor }))
}

fn begin(world: &mut World) -> u64 {
    let bulk = NewBulkJob {
        act: BulkAct::Purge,
        route: "r".into(),
        filter: Filter::default(),
        in_flight: false,
        at: 7,
        actor: Actor::default(),
    };
    match world.apply(&audited(Op::BeginBulk(Box::new(bulk)))) {
        Outcome::BulkBegun(job) => job,
        other => panic!("{other:?}"),
    }
}

fn sweep(world: &mut World, job: u64, id: &str) -> Outcome {
    let revision = world.revision("r", id);
    world.apply(&Op::Sweep(Sweep {
        job: Some(job),
        route: "r".into(),
        id: id.into(),
        seq: revision.seq,
        act: SweepAct::Purge,
    }))
}

fn advance(world: &mut World, job: u64, cursor: &str, state: JobState) -> Outcome {
    world.apply(&Op::AdvanceBulk(Box::new(BulkAdvance {
        job,
        cursor: cursor.as_bytes().into(),
        state,
        at: 9,
        actor: Actor::default(),
    })))
}

fn job(store: &Arc<Fake>, id: u64) -> BulkJob {
    let jobs = LedgerView::new(store.clone()).jobs().unwrap();
    jobs.into_iter().find(|(found, _)| *found == id).unwrap().1
}

fn lines(store: &Arc<Fake>) -> Vec<AuditLine> {
    let mut lines = LedgerView::new(store.clone()).audit().unwrap();
    lines.sort_by_key(|line| line.number);
    lines
}

#[test]
fn tasks_of_a_bulk_operation_are_counted_in_the_batch_that_changes_them() {
    let mut world = World::new();
    for id in ["a", "b", "c"] {
        world.apply(&schedule("r", id, 10_000, b"", false));
    }
    let id = begin(&mut world);
    world.commit(Durability::Synced);
    sweep(&mut world, id, "a");
    world.commit(Durability::Synced);
    assert_eq!(
        (
            job(&world.store, id).changed,
            job(&world.store, id).cursor.len()
        ),
        (1, 0)
    );
    // The batch goes again from its start.
    let mut world = world.after_power_loss(0);
    for id_of in ["a", "b"] {
        sweep(&mut world, id, id_of);
    }
    advance(&mut world, id, "b", JobState::Running);
    world.commit(Durability::Synced);
    let stored = job(&world.store, id);
    assert_eq!((stored.changed, &*stored.cursor), (2, &b"b"[..]));
    sweep(&mut world, id, "c");
    assert_eq!(
        advance(&mut world, id, "", JobState::Done),
        Outcome::Applied(true)
    );
    assert_eq!(
        advance(&mut world, id, "", JobState::Done),
        Outcome::Applied(false)
    );
    world.commit(Durability::Synced);
    let stored = job(&world.store, id);
    assert_eq!(
        (stored.changed, stored.state, stored.ended_at),
        (3, JobState::Done, 9)
    );
    let reopened = Ledger::open(world.store.clone(), 0, Sizes::SMALL).unwrap();
    assert_eq!(reopened.running_jobs().count(), 0);
    let acts: Vec<_> = lines(&world.store)
        .iter()
        .map(|line| line.act.to_string())
        .collect();
    assert_eq!(acts, ["purge", "done"]);
    assert_eq!(lines(&world.store)[1].tasks, Some(3));
}

#[test]
fn only_the_last_ended_bulk_operations_are_kept() {
    let mut world = World::new();
    let running = begin(&mut world);
    let ended: Vec<u64> = (0..6)
        .map(|_| {
            let id = begin(&mut world);
            advance(&mut world, id, "", JobState::Stopped);
            world.commit(Durability::Synced);
            id
        })
        .collect();
    let jobs = LedgerView::new(world.store.clone()).jobs().unwrap();
    let kept: Vec<u64> = jobs.into_iter().map(|(id, _)| id).collect();
    assert_eq!(kept, [&[running], &ended[3..]].concat());
}

#[test]
fn a_bulk_operation_that_ends_after_newer_ones_is_kept() {
    let mut world = World::new();
    let first = begin(&mut world);
    let newer: Vec<u64> = (0..3).map(|_| begin(&mut world)).collect();
    for id in &newer {
        advance(&mut world, *id, "", JobState::Stopped);
        world.commit(Durability::Synced);
    }
    advance(&mut world, first, "", JobState::Done);
    world.commit(Durability::Synced);
    let jobs = LedgerView::new(world.store.clone()).jobs().unwrap();
    let kept: Vec<u64> = jobs.into_iter().map(|(id, _)| id).collect();
    assert_eq!(kept, [&[first], &newer[1..]].concat());
}

#[test]
fn pauses_are_on_disk_until_they_end() {
    let mut world = World::new();
    let paused = |world: &World| -> Vec<String> {
        let ledger = Ledger::open(world.store.clone(), 0, Sizes::SMALL).unwrap();
        ledger.paused().map(|route| route.to_string()).collect()
    };
    for (op, changed) in [
        (Op::Pause("b".into()), true),
        (Op::Pause("a/é".into()), true),
        (Op::Pause("b".into()), false),
        (Op::Resume("c".into()), false),
    ] {
        assert_eq!(world.apply(&audited(op)), Outcome::Applied(changed));
    }
    world.commit(Durability::Synced);
    assert_eq!(paused(&world), ["a/é", "b"]);
    world.apply(&audited(Op::Resume("b".into())));
    world.commit(Durability::Synced);
    assert_eq!(paused(&world), ["a/é"]);
    let acts: Vec<_> = lines(&world.store)
        .iter()
        .map(|line| line.act.to_string())
        .collect();
    assert_eq!(
        acts,
        ["pause", "pause", "resume"],
        "what changes nothing has no line"
    );
}

#[test]
fn the_audit_keeps_the_last_lines_over_restarts() {
    let mut world = World::new();
    let toggle = |world: &mut World, count: u64| {
        for number in 0..count {
            let route: Arc<str> = "r".into();
            let op = match number % 2 {
                0 => Op::Pause(route),
                _ => Op::Resume(route),
            };
            world.apply(&audited(op));
        }
        world.commit(Durability::Synced);
    };
    toggle(&mut world, 600);
    let mut world = world.after_power_loss(0);
    toggle(&mut world, 600);
    let lines = lines(&world.store);
    let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, (201..=1_200).collect::<Vec<_>>());
    assert_eq!(lines[0].by.as_deref(), Some("ops"));
    assert_eq!(lines[0].address.as_deref(), Some("127.0.0.1:9"));
}

#[test]
fn a_task_that_died_again_is_not_the_one_that_was_read() {
    let mut world = World::new();
    world.apply(&schedule("r", "a", 10_000, b"", false));
    let id = begin(&mut world);
    let bury = |world: &mut World, at| {
        let revision = world.revision("r", "a");
        world.apply(&Op::Bury {
            attempt: revision.attempt,
            revision,
            at,
            failures: 1,
            reason: None,
            failure: None,
        });
    };
    bury(&mut world, 20_000);
    let seq = world.revision("r", "a").seq;
    let sweep = |act| {
        Op::Sweep(Sweep {
            job: Some(id),
            route: "r".into(),
            id: "a".into(),
            seq,
            act,
        })
    };
    let place = Place::Dead(20_000);
    let kick = sweep(SweepAct::Kick { place, at: 21_000 });
    assert!(matches!(world.apply(&kick), Outcome::Kicked(Some(_))));
    bury(&mut world, 22_000);
    assert_eq!(world.apply(&kick), Outcome::Kicked(None));
    let delete = sweep(SweepAct::Delete { place });
    assert_eq!(world.apply(&delete), Outcome::Cancelled(None));
    world.commit(Durability::Synced);
    assert_eq!(job(&world.store, id).changed, 1);
}
