//! Moves of the due time, in each state of a task.

mod bulk;
mod jobs_in_flight;

use super::{Step, World, invariants, world::START};
use crate::{front::FrontInput, scheduler::SchedulerInput};
use hyper_delay_config::Config;
use hyper_delay_protocol::{AdminRequest, Code, MoveTo, Refusal, Reply, Terms};
use hyper_delay_store::{
    ReadStore as _, Space,
    record::{self, Name, Place, key},
};

/// With a window of a second, and one failed round before a task is dead at the second.
fn world() -> World {
    let config = Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 60_000,
        max_attempts: Some(2),
        credit: 1,
        ..Config::default()
    };
    World::with(config, 1_000, 1000, 100)
}

/// Moves the task of the route, and lets all happen. Returns whether it was found, and when it is due.
fn moved(world: &mut World, to: MoveTo) -> (bool, Option<u64>) {
    world.move_task("route", "task", to);
    world.settle();
    invariants::check(world);
    last_move(world)
}

fn last_move(world: &World) -> (bool, Option<u64>) {
    let replies = world.replies.iter().rev();
    let mut moves = replies.filter_map(|(_, reply)| match reply {
        Reply::Moved { found, due, .. } => Some((*found, *due)),
        _ => None,
    });
    moves.next().expect("a move was answered")
}

fn last_refusal(world: &World) -> Refusal {
    match world.replies.last() {
        Some((_, Reply::Error(refusal))) => refusal.clone(),
        other => panic!("{other:?}"),
    }
}

/// When the deliveries were sent, after the start.
fn times(world: &World) -> Vec<u64> {
    world.deliveries.iter().map(|it| it.at - START).collect()
}

/// The state of the task on disk.
fn on_disk(world: &World) -> Name {
    let row = world.store.get(Space::Names, &key::name("route", "task"));
    record::decode(&row.unwrap().expect("the task is on disk")).unwrap()
}

#[test]
fn a_task_runs_now_wherever_it_waits() {
    for ahead in [1, 500, 5_000, 1_000_000] {
        let mut world = world();
        world.connect(&["route"]);
        world.schedule("task", START + ahead);
        world.settle();
        let before = on_disk(&world);
        assert_eq!(moved(&mut world, MoveTo::Now), (true, Some(START)));
        assert_eq!(times(&world), [0], "{ahead}");
        let place = Place::Waiting(START);
        assert_eq!(on_disk(&world), Name { place, ..before });
        world.ack_delivery(&world.deliveries[0].clone());
        world.run(2_000_000);
        assert_eq!((world.in_memory(), world.on_disk(Space::Tasks)), (0, 0));
    }
}

#[test]
fn a_task_is_rescheduled_within_and_beyond_the_window() {
    for (from, to) in [(500, 700), (700, 500), (500, 9_000), (9_000, 500), (0, 700)] {
        let mut world = world();
        if from > 0 {
            world.connect(&["route"]);
        }
        world.schedule("task", START + from);
        world.settle();
        let due = START + to;
        assert_eq!(moved(&mut world, MoveTo::At(due)), (true, Some(due)));
        if from == 0 {
            assert_eq!(world.on_disk(Space::Parked), 0, "it waits again");
            world.connect(&["route"]);
        }
        world.run(to - 1);
        assert_eq!(times(&world), [0; 0], "{from} {to}");
        world.run(1);
        assert_eq!(times(&world), [to], "{from} {to}");
    }
}

#[test]
fn a_time_that_has_passed_means_now() {
    let mut world = world();
    world.schedule("task", START + 500);
    world.settle();
    for to in [MoveTo::At(0), MoveTo::At(START), MoveTo::Now] {
        assert_eq!(moved(&mut world, to), (true, Some(START)));
        world.pass(10);
    }
    assert_eq!(on_disk(&world).place, Place::Parked(START));
}

#[test]
fn a_task_that_waits_for_a_consumer_keeps_its_place_if_it_runs_now() {
    let mut world = world();
    let consumer = world.connect(&["route"]);
    for (id, at) in [("first", 0), ("task", 1), ("last", 2)] {
        world.schedule(id, START + at);
    }
    world.run(10);
    assert_eq!(moved(&mut world, MoveTo::Now), (true, Some(START + 1)));
    for id in ["first", "task", "last"] {
        world.ack(consumer, &id.into(), 1);
        world.settle();
    }
    let ids: Vec<_> = world.deliveries.iter().map(|it| &*it.id).collect();
    assert_eq!(ids, ["first", "task", "last"]);
}

#[test]
fn a_queued_task_that_is_rescheduled_waits_again() {
    let mut world = world();
    let consumer = world.connect(&["route"]);
    world.schedule("first", START);
    world.schedule("task", START);
    world.settle();
    let due = START + 5_000;
    assert_eq!(moved(&mut world, MoveTo::At(due)), (true, Some(due)));
    world.ack(consumer, &"first".into(), 1);
    world.run(4_999);
    assert_eq!(times(&world), [0]);
    world.run(1);
    assert_eq!(times(&world), [0, 5_000]);
}

#[test]
fn a_task_in_flight_is_not_moved() {
    let mut world = world();
    let consumer = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    let before = on_disk(&world);
    for to in [MoveTo::Now, MoveTo::At(START + 9_000)] {
        assert_eq!(moved(&mut world, to), (true, None));
        assert_eq!(on_disk(&world), before);
    }
    world.ack(consumer, &"task".into(), 1);
    world.settle();
    assert_eq!(moved(&mut world, MoveTo::Now), (false, None));
}

#[test]
fn a_task_whose_round_has_failed_runs_now_and_keeps_its_failures() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    world.nack_delivery(&world.deliveries[0].clone(), None);
    world.run(100);
    assert_eq!(times(&world), [0], "the backoff is a minute");
    assert_eq!(moved(&mut world, MoveTo::Now), (true, Some(START + 100)));
    assert_eq!(times(&world), [0, 100]);
    assert_eq!(
        (on_disk(&world).failures, world.deliveries[1].attempt),
        (1, 2)
    );
    world.nack_delivery(&world.deliveries[1].clone(), None);
    world.settle();
    assert_eq!(world.on_disk(Space::Dead), 1, "two rounds have failed");
    world.move_task("route", "task", MoveTo::Now);
    world.settle();
    assert_eq!(last_refusal(&world).code, Code::Dead);
    assert_eq!(last_refusal(&world).id.as_deref(), Some("task"));
}

#[test]
fn the_late_ack_of_a_moved_task_counts() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.run(1_001);
    let due = START + 9_000;
    assert_eq!(moved(&mut world, MoveTo::At(due)), (true, Some(due)));
    world.ack_delivery(&world.deliveries[0].clone());
    world.run(20_000);
    assert_eq!(times(&world), [0]);
    assert_eq!(world.on_disk(Space::Tasks), 0);
}

#[test]
fn a_task_is_not_moved_to_when_it_has_expired() {
    let mut world = world();
    world.connect(&["route"]);
    let terms = Terms {
        expires_at: Some(START + 800),
        ..Terms::default()
    };
    world.schedule_with(("route", "task"), START + 500, 0, false, Some(terms));
    world.settle();
    let before = on_disk(&world);
    for (due, shown) in [
        (START + 800, "1000000800 (1970-01-12T13:46:40.8Z)"),
        (START + 9_000, "1000009000 (1970-01-12T13:46:49Z)"),
    ] {
        world.move_task("route", "task", MoveTo::At(due));
        world.settle();
        let refusal = last_refusal(&world);
        assert_eq!(refusal.code, Code::BadField);
        let times =
            format!("due is {shown}, and expires_at is 1000000800 (1970-01-12T13:46:40.8Z): give ");
        assert!(refusal.message.starts_with(&times), "{refusal}");
        assert_eq!(on_disk(&world), before);
    }
    let due = START + 799;
    assert_eq!(moved(&mut world, MoveTo::At(due)), (true, Some(due)));
    world.run(1_000);
    assert_eq!(times(&world), [799]);
}

#[test]
fn a_task_that_has_expired_does_not_run_now() {
    let mut world = world();
    let terms = Terms {
        expires_at: Some(START + 800),
        ..Terms::default()
    };
    world.schedule_with(("route", "task"), START + 500, 0, false, Some(terms));
    world.settle();
    world.pass(800);
    for to in [MoveTo::Now, MoveTo::At(START)] {
        world.move_task("route", "task", to);
    }
    world.settle();
    let refusal = last_refusal(&world);
    assert_eq!(refusal.code, Code::BadField);
    let message = "expires_at is 1000000800 (1970-01-12T13:46:40.8Z), which has passed: ";
    assert!(refusal.message.starts_with(message), "{refusal}");
}

#[test]
fn a_task_is_not_moved_further_than_it_can_be_scheduled() {
    let mut world = world();
    world.schedule("task", START + 500);
    world.settle();
    let latest = START + 3_650 * 86_400_000;
    let due = Some(latest);
    assert_eq!(moved(&mut world, MoveTo::At(latest)), (true, due));
    world.move_task("route", "task", MoveTo::At(latest + 1));
    let refusal = last_refusal(&world);
    assert_eq!(refusal.code, Code::BadField);
    assert_eq!(
        refusal.message,
        "due is 316360000001 (1980-01-10T13:46:40.001Z), more than max_delay_days ahead: give at \
         most 316360000000 (1980-01-10T13:46:40Z)"
    );
}

#[test]
fn a_task_of_a_paused_route_is_moved_and_stays() {
    let mut world = world();
    world.connect(&["route"]);
    let route = || "route".into();
    world.operate(AdminRequest::Pause { route: route() });
    world.schedule("task", START + 500);
    world.settle();
    assert_eq!(moved(&mut world, MoveTo::Now), (true, Some(START)));
    world.run(10_000);
    assert_eq!(times(&world), [0; 0]);
    world.operate(AdminRequest::Resume { route: route() });
    world.settle();
    assert_eq!(times(&world), [10_000]);
}

#[test]
fn the_same_schedule_again_leaves_a_moved_task_where_it_is() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START + 500);
    world.settle();
    let due = START + 9_000;
    moved(&mut world, MoveTo::At(due));
    for replace in [false, true] {
        world.schedule_on("route", "task", START + 500, 0, replace);
        world.settle();
        assert_eq!(on_disk(&world).place, Place::Waiting(due));
    }
    world.schedule_on("route", "task", START + 600, 0, true);
    world.run(1_000);
    assert_eq!(times(&world), [600], "the next revision has its own time");
}

#[test]
fn a_task_in_flight_with_a_hedged_copy_is_not_moved() {
    let config = Config {
        hedge: [("route".to_owned(), 100)].into(),
        ..Config::default()
    };
    let mut world = World::with(config, 1_000, 1000, 100);
    let first = world.connect(&["route"]);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.run(100);
    assert_eq!(times(&world), [0, 100]);
    world.input(FrontInput::Closed(first));
    assert_eq!(moved(&mut world, MoveTo::At(START + 9_000)), (true, None));
}

#[test]
fn a_new_leader_moves_no_task_that_may_be_in_flight() {
    let config = Config {
        credit: 0,
        ack_timeout_ms: 1_000,
        ..Config::default()
    };
    let mut world = World::with(config, 1_000, 1000, 100);
    let consumer = world.connect(&["route"]);
    world.lend(consumer, 1);
    world.schedule("task", START);
    world.schedule("later", START + 500);
    world.settle();
    let (_, copy) = world.server.scheduler().in_flight().next().unwrap();
    let later = |world: &mut World| {
        world.move_task("route", "later", MoveTo::Now);
        world.settle();
        last_move(world)
    };
    world.take_over(&[consumer]);
    assert_eq!(
        moved(&mut world, MoveTo::Now),
        (true, None),
        "not reported yet"
    );
    assert_eq!(later(&mut world), (true, Some(START)), "it was not due");
    world.adopt(consumer, copy);
    world.lead(SchedulerInput::DeliveriesHeld(false));
    assert_eq!(moved(&mut world, MoveTo::Now), (true, None), "reported");
    world.run(1_001);
    let due = START + 9_000;
    assert_eq!(
        moved(&mut world, MoveTo::At(due)),
        (true, Some(due)),
        "late"
    );
    world.take_over(&[consumer]);
    world.lead(SchedulerInput::DeliveriesHeld(false));
    assert_eq!(on_disk(&world).place, Place::Waiting(due));
}

#[test]
fn the_low_water_mark_does_not_pass_a_move_in_flight() {
    let mut world = world();
    world.schedule("task", START + 100_000);
    world.settle();
    world.move_task("route", "task", MoveTo::Now);
    // The mark is raised every ten seconds.
    world.step(Step::Pass(20_000));
    world.step(Step::Tick);
    world.step(Step::Commit);
    world.restart();
    world.connect(&["route"]);
    world.settle();
    assert_eq!(times(&world), [20_000]);
}
