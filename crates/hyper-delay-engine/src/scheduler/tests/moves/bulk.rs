//! Moves of many tasks.

use std::collections::BTreeSet;

use super::{super::invariants, START, Step, World};
use crate::ledger::LedgerView;
use hyper_delay_config::Config;
use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, Code, Filter, Reply, TaskState};
use hyper_delay_store::record::{JobState, Place};

const MINUTE: u64 = 60_000;

fn world() -> World {
    let config = Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 60_000,
        credit: 1_000,
        ..Config::default()
    };
    World::with(config, 1_000, 1_000, 100)
}

fn to(to: BulkMoveTo) -> BulkAct {
    BulkAct::Move(BulkMove { to, state: None })
}

fn retrying(to: BulkMoveTo) -> BulkAct {
    let state = Some(TaskState::Retrying);
    BulkAct::Move(BulkMove { to, state })
}

/// The state of the last job, and how many tasks it has changed.
fn last_job(world: &World) -> (JobState, u64) {
    let jobs = LedgerView::new(world.store.clone()).jobs().unwrap();
    let (_, job) = jobs.last().expect("there is one");
    (job.state, job.changed)
}

fn place(world: &World, id: &str) -> Place {
    let view = LedgerView::new(world.store.clone());
    view.name("route", id).unwrap().expect("it is there").place
}

fn delivered(world: &World) -> BTreeSet<(String, u64)> {
    let deliveries = world.deliveries.iter();
    let deliveries = deliveries.map(|it| (it.id.to_string(), it.at - START));
    deliveries.collect()
}

#[test]
fn every_waiting_task_runs_now_over_many_batches() {
    let mut world = world();
    world.connect(&["route"]);
    for id in 0..20 {
        // Within the window and beyond it.
        world.schedule(&id.to_string(), START + 500 + id * 1_000);
    }
    world.schedule_on("other", "a", START + 500, 0, false);
    world.settle();
    world.bulk(to(BulkMoveTo::Now), "route", Filter::default());
    world.settle();
    invariants::check(&world);
    assert_eq!(last_job(&world), (JobState::Done, 20));
    let all: BTreeSet<_> = (0..20).map(|id: u64| (id.to_string(), 0)).collect();
    assert_eq!(delivered(&world), all);
}

#[test]
fn a_task_that_fails_again_is_not_run_again_by_the_same_job() {
    let mut world = world();
    world.connect(&["route"]);
    for id in 0..20 {
        world.schedule(&id.to_string(), START);
    }
    world.settle();
    fail(&mut world, 0);
    world.schedule("later", START + MINUTE);
    world.bulk(retrying(BulkMoveTo::Now), "route", Filter::default());
    // Each task fails at once, between the batches.
    let mut rounds = 0;
    let mut known = world.deliveries.len();
    while !world.committer.is_idle() || rounds < 100 {
        world.tick();
        world.step(Step::Commit);
        world.step(Step::Tell);
        fail(&mut world, known);
        known = world.deliveries.len();
        rounds += 1;
        assert!(rounds < 1_000, "the job does not end");
    }
    world.settle();
    assert_eq!(last_job(&world), (JobState::Done, 20));
    assert_eq!(world.deliveries.len(), 40);
    assert_eq!(place(&world, "later"), Place::Waiting(START + MINUTE));
}

/// Gives all deliveries back from this one on.
fn fail(world: &mut World, from: usize) {
    let failed = world.deliveries[from..].to_vec();
    for delivered in &failed {
        world.nack_delivery(delivered, None);
    }
}

#[test]
fn due_times_are_shifted_once_over_restarts_at_any_moment() {
    for restart in 0..40 {
        let mut world = world();
        for id in 0..10 {
            world.schedule(&id.to_string(), START + MINUTE + id);
        }
        world.settle();
        world.bulk(to(BulkMoveTo::Later(5_000)), "route", Filter::default());
        for step in 0..40 {
            match step % 3 {
                0 => world.step(Step::Tick),
                1 => world.step(Step::Commit),
                _ => world.step(Step::Tell),
            }
            if step == restart {
                world.restart();
            }
        }
        world.settle();
        if restart == 0 {
            // The request is lost with the server.
            continue;
        }
        assert_eq!(last_job(&world), (JobState::Done, 10), "{restart}");
        for id in 0..10 {
            let due = START + MINUTE + id + 5_000;
            assert_eq!(place(&world, &id.to_string()), Place::Waiting(due));
        }
        world.connect(&["route"]);
        world.run(MINUTE + 5_009);
        assert_eq!(delivered(&world).len(), 10);
        invariants::check(&world);
    }
}

#[test]
fn tasks_in_flight_and_later_ones_stay() {
    let mut world = world();
    let consumer = world.connect(&["route"]);
    world.schedule("flies", START);
    world.schedule("waits", START + MINUTE);
    world.settle();
    world.bulk(
        to(BulkMoveTo::At(START + 2 * MINUTE)),
        "route",
        Filter::default(),
    );
    world.schedule("later", START + MINUTE);
    world.settle();
    assert_eq!(last_job(&world), (JobState::Done, 1));
    assert_eq!(place(&world, "flies"), Place::Waiting(START));
    assert_eq!(place(&world, "waits"), Place::Waiting(START + 2 * MINUTE));
    assert_eq!(place(&world, "later"), Place::Waiting(START + MINUTE));
    world.ack(consumer, &"flies".into(), 1);
    world.settle();
    invariants::check(&world);
}

#[test]
fn no_round_begins_between_the_batch_and_its_commit() {
    let mut world = world();
    world.schedule("task", START + 10);
    world.settle();
    world.connect(&["route"]);
    world.bulk(
        to(BulkMoveTo::At(START + MINUTE)),
        "route",
        Filter::default(),
    );
    world.step(Step::Commit);
    world.step(Step::Tell);
    world.tick();
    // Its move is submitted, and it comes due.
    world.pass(20);
    world.tick();
    invariants::check(&world);
    world.settle();
    assert_eq!(delivered(&world).len(), 0);
    world.run(MINUTE);
    let at = world.deliveries[0].at - START;
    assert_eq!(at, MINUTE);
}

#[test]
fn parked_tasks_wait_again() {
    let mut world = world();
    for id in ["a", "b"] {
        world.schedule(id, START);
    }
    world.settle();
    assert_eq!(place(&world, "a"), Place::Parked(START));
    world.bulk(to(BulkMoveTo::Now), "route", Filter::default());
    world.settle();
    assert_eq!(
        last_job(&world),
        (JobState::Done, 0),
        "they are due already"
    );
    world.bulk(to(BulkMoveTo::Later(MINUTE)), "route", Filter::default());
    world.settle();
    assert_eq!(last_job(&world), (JobState::Done, 2));
    world.connect(&["route"]);
    world.run(MINUTE - 1);
    assert_eq!(delivered(&world).len(), 0);
    world.run(1);
    assert_eq!(delivered(&world).len(), 2);
}

#[test]
fn times_too_far_ahead_are_refused() {
    let mut world = world();
    let most = world.server.scheduler().settings.max_delay_millis;
    for (it, start) in [
        (BulkMoveTo::At(START + most + 1), "due is "),
        (BulkMoveTo::Later(most + 1), "shift_ms is "),
    ] {
        world.bulk(to(it), "route", Filter::default());
        let Some((_, Reply::Error(refusal))) = world.replies.last() else {
            panic!("{:?}", world.replies);
        };
        assert_eq!(refusal.code, Code::BadField);
        assert!(refusal.message.starts_with(start), "{refusal}");
    }
    for it in [BulkMoveTo::At(START + most), BulkMoveTo::Later(most)] {
        world.bulk(to(it), "route", Filter::default());
        world.settle();
        assert!(matches!(world.replies.last(), Some((_, Reply::Job(_)))));
    }
}

#[test]
fn the_low_water_mark_does_not_pass_moves_in_flight() {
    let mut world = world();
    world.schedule("task", START + 5_000_000);
    world.settle();
    world.bulk(to(BulkMoveTo::Now), "route", Filter::default());
    world.step(Step::Commit);
    world.step(Step::Tell);
    world.tick();
    // The move is submitted. No later mark is stored with it.
    world.pass(100_000);
    world.tick();
    world.step(Step::Commit);
    world.restart();
    world.connect(&["route"]);
    world.settle();
    assert_eq!(delivered(&world).len(), 1, "{:?}", place(&world, "task"));
}
