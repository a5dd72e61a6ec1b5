//! Bulk operations one after another, and one that meets damage.

use std::sync::Arc;

use super::{Step, World, world::START};
use crate::ledger::LedgerView;
use hyper_delay_config::Config;
use hyper_delay_protocol::{AdminRequest, BulkAct, Filter, Reply};
use hyper_delay_store::{
    Batch, Durability, Space, Store as _,
    fake::Fake,
    record::{self, key},
};

const ROUTES: [&str; 2] = ["first", "second"];

/// A world with this many waiting tasks of each route.
fn waiting(tasks: u64) -> World {
    let mut world = World::with(Config::default(), 10_000, 1_000, 100);
    for route in ROUTES {
        for id in 0..tasks {
            world.schedule_on(route, &id.to_string(), START + 1_000_000, 0, false);
        }
    }
    world.settle();
    world
}

fn view(world: &World) -> LedgerView<Fake> {
    LedgerView::new(world.store.clone())
}

/// The acts in the audit with their routes and the numbers of tasks, the oldest first.
fn audit(world: &World) -> Vec<(String, String, Option<u64>)> {
    let mut lines = view(world).audit().unwrap();
    lines.sort_by_key(|line| line.number);
    let lines = lines.into_iter();
    lines
        .map(|line| (line.act.into(), line.route.into(), line.tasks))
        .collect()
}

fn line(act: &str, route: &str, tasks: Option<u64>) -> (String, String, Option<u64>) {
    (act.to_owned(), route.to_owned(), tasks)
}

fn left(world: &World, route: &str) -> u64 {
    view(world).counts(route).unwrap().waiting
}

#[test]
fn a_job_begins_to_change_tasks_when_the_one_before_it_has_ended() {
    let mut world = waiting(10);
    for route in ROUTES {
        world.bulk(BulkAct::Purge, route, Filter::default());
    }
    let mut between = 0;
    while left(&world, "first") > 0 {
        assert_eq!(left(&world, "second"), 10);
        between += u64::from(left(&world, "first") < 10);
        world.tick();
        world.step(Step::Commit);
        world.step(Step::Tell);
    }
    assert!(between > 1, "the first one has several batches");
    world.settle();
    assert_eq!(left(&world, "second"), 0);
    let wanted = [
        line("purge", "first", None),
        line("purge", "second", None),
        line("done", "first", Some(10)),
        line("done", "second", Some(10)),
    ];
    assert_eq!(audit(&world), wanted);
}

#[test]
fn a_job_that_meets_damage_fails_and_the_next_one_goes_on() {
    let mut world = waiting(10);
    // Names are in the order of their ids: two batches of three tasks come before it.
    let damaged: Arc<str> = "6".into();
    let mut batch = Batch::new();
    batch.put(Space::Names, key::name("first", &damaged), [2]);
    world.store.commit(batch, Durability::Synced).unwrap();
    for route in ROUTES {
        world.bulk(BulkAct::Purge, route, Filter::default());
    }
    world.settle();
    let states: Vec<_> = view(&world)
        .jobs()
        .unwrap()
        .into_iter()
        .map(|(_, job)| (job.state, job.changed))
        .collect();
    assert_eq!(
        states,
        [(record::JobState::Failed, 6), (record::JobState::Done, 10)]
    );
    assert_eq!((left(&world, "first"), left(&world, "second")), (4, 0));
    let wanted = [
        line("purge", "first", None),
        line("purge", "second", None),
        line("failed", "first", Some(6)),
        line("done", "second", Some(10)),
    ];
    assert_eq!(audit(&world), wanted);
    // It stays ended.
    world.restart();
    world.settle();
    assert_eq!(audit(&world), wanted);
}

/// The replies to stops so far: their jobs, and whether they were found.
fn stopped(world: &World) -> Vec<(u64, bool)> {
    let replies = world.replies.iter();
    let stopped = replies.filter_map(|(_, reply)| match reply {
        Reply::Stopped { job, found } => Some((*job, *found)),
        _ => None,
    });
    stopped.collect()
}

fn running(world: &World) -> Vec<u64> {
    let jobs = view(world).jobs().unwrap().into_iter();
    let running = jobs.filter(|(_, job)| job.state == record::JobState::Running);
    running.map(|(number, _)| number).collect()
}

#[test]
fn stop_is_acknowledged_once_the_end_of_the_job_is_on_disk() {
    let mut world = waiting(10);
    world.bulk(BulkAct::Purge, "first", Filter::default());
    world.step(Step::Commit);
    world.step(Step::Tell);
    let job = running(&world)[0];
    // Two operators do it. Nothing of it is on disk before the server is killed.
    world.operate(AdminRequest::Stop { job });
    world.operate(AdminRequest::Stop { job });
    world.tick();
    assert_eq!(stopped(&world), []);
    world.restart();
    world.step(Step::Tick);
    assert_eq!(running(&world), [job]);
    world.operate(AdminRequest::Stop { job });
    world.settle();
    assert_eq!(stopped(&world), [(job, true)]);
    assert_eq!((running(&world), left(&world, "first") > 0), (vec![], true));
    world.restart();
    world.settle();
    assert!(left(&world, "first") > 0);
}

#[test]
fn stop_of_a_waiting_job_does_not_wait_for_the_job_that_runs() {
    let mut world = waiting(10);
    for route in ROUTES {
        world.bulk(BulkAct::Purge, route, Filter::default());
    }
    world.step(Step::Commit);
    world.step(Step::Tell);
    let [first, second] = running(&world)[..] else {
        panic!("both run");
    };
    world.operate(AdminRequest::Stop { job: second });
    while stopped(&world).is_empty() {
        world.tick();
        world.step(Step::Commit);
        world.step(Step::Tell);
    }
    assert_eq!(stopped(&world), [(second, true)]);
    assert_eq!(running(&world), [first]);
    world.settle();
    assert_eq!((left(&world, "first"), left(&world, "second")), (0, 10));
    let wanted = [
        line("purge", "first", None),
        line("purge", "second", None),
        line("stopped", "second", Some(0)),
        line("done", "first", Some(10)),
    ];
    assert_eq!(audit(&world), wanted);
}
