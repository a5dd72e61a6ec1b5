//! Moves while other changes of the same task are on their way to the disk.

use super::*;

/// A world with a task, and a consumer of its route.
fn with_task(ahead: u64) -> World {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START + ahead);
    world.settle();
    world
}

fn due(ahead: u64) -> (bool, Option<u64>) {
    (true, Some(START + ahead))
}

#[test]
fn a_task_that_comes_due_while_it_is_moved_is_held() {
    for (written, told) in [(false, false), (true, false), (true, true)] {
        let mut world = with_task(10);
        world.move_task("route", "task", MoveTo::At(START + 5_000));
        if written {
            world.step(Step::Commit);
        }
        if told {
            world.step(Step::Tell);
        }
        world.run(4_999);
        assert_eq!(times(&world), [0; 0]);
        world.run(1);
        assert_eq!(
            (last_move(&world), times(&world)),
            (due(5_000), vec![5_000])
        );
    }
    let mut world = with_task(10);
    world.move_task("route", "task", MoveTo::At(START + 5_000));
    world.step(Step::Pass(20));
    world.step(Step::Tick);
    invariants::check(&world);
    assert_eq!(times(&world), [0; 0], "it is held");
}

#[test]
fn a_held_task_that_is_not_moved_is_delivered() {
    let mut world = world();
    world.connect(&["route"]);
    let terms = Terms {
        expires_at: Some(START + 900),
        ..Terms::default()
    };
    world.schedule_with(("route", "task"), START + 10, 0, false, Some(terms));
    world.settle();
    world.move_task("route", "task", MoveTo::At(START + 900));
    world.step(Step::Pass(20));
    world.step(Step::Tick);
    assert_eq!(times(&world), [0; 0]);
    world.settle();
    assert_eq!(last_refusal(&world).code, Code::BadField);
    assert_eq!(times(&world), [20]);
}

#[test]
fn a_held_task_can_expire() {
    let mut world = world();
    let terms = Terms {
        expires_at: Some(START + 900),
        ..Terms::default()
    };
    world.connect(&["route"]);
    world.schedule_with(("route", "task"), START + 10, 0, false, Some(terms));
    world.settle();
    world.move_task("route", "task", MoveTo::At(START + 800));
    world.step(Step::Pass(1_000));
    world.step(Step::Tick);
    invariants::check(&world);
    world.run(10_000);
    assert_eq!(times(&world), [0; 0]);
    assert_eq!((world.in_memory(), world.on_disk(Space::Names)), (0, 0));
}

#[test]
fn a_move_follows_the_schedule_before_it() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    assert_eq!(moved(&mut world, MoveTo::At(START + 5_000)), due(5_000));
    assert_eq!(times(&world), [0; 0], "it never was due before");
    world.run(5_000);
    assert_eq!(times(&world), [5_000]);
}

#[test]
fn a_move_is_of_the_revision_that_replaces_the_one_in_flight() {
    let mut world = with_task(0);
    assert_eq!(times(&world), [0]);
    world.schedule_on("route", "task", START, 1, true);
    assert_eq!(moved(&mut world, MoveTo::At(START + 5_000)), due(5_000));
    // The consumer has room again.
    world.ack(1, &"task".into(), 1);
    world.run(4_999);
    assert_eq!(times(&world), [0]);
    world.run(1);
    assert_eq!(times(&world), [0, 5_000]);
}

#[test]
fn a_later_schedule_replaces_the_moved_revision() {
    let mut world = with_task(500);
    world.move_task("route", "task", MoveTo::Now);
    world.schedule_on("route", "task", START + 5_000, 1, true);
    world.settle();
    assert_eq!(last_move(&world), due(0));
    world.run(10_000);
    assert_eq!(times(&world).last(), Some(&5_000));
}

#[test]
fn a_move_after_a_cancel_or_an_ack_finds_nothing() {
    for is_cancel in [true, false] {
        let mut world = with_task(0);
        match is_cancel {
            true => world.cancel("route", "task"),
            false => world.ack(1, &"task".into(), 1),
        }
        assert_eq!(moved(&mut world, MoveTo::Now), (false, None), "{is_cancel}");
        assert_eq!(world.in_memory(), 0);
    }
}

#[test]
fn a_cancel_after_a_move_removes_the_task() {
    let mut world = with_task(500);
    world.move_task("route", "task", MoveTo::Now);
    world.cancel("route", "task");
    world.run(10_000);
    assert_eq!(last_move(&world), due(0));
    assert_eq!((world.in_memory(), world.on_disk(Space::Names)), (0, 0));
}

#[test]
fn the_last_of_several_moves_holds() {
    for to in [
        [MoveTo::Now, MoveTo::At(START + 5_000)],
        [MoveTo::At(START + 9_000), MoveTo::At(START + 5_000)],
    ] {
        let mut world = with_task(500);
        for to in to {
            world.move_task("route", "task", to);
        }
        world.run(10_000);
        assert_eq!(
            (last_move(&world), times(&world)),
            (due(5_000), vec![5_000])
        );
    }
}

#[test]
fn a_task_is_moved_while_it_is_parked() {
    let mut world = world();
    world.schedule("task", START);
    world.step(Step::Commit);
    world.step(Step::Tell);
    // It is on its way to be parked.
    world.move_task("route", "task", MoveTo::At(START + 5_000));
    world.connect(&["route"]);
    world.run(4_999);
    assert_eq!((last_move(&world), times(&world)), (due(5_000), vec![]));
    world.run(1);
    assert_eq!(times(&world), [5_000]);
}

#[test]
fn a_task_is_moved_while_its_retry_is_written() {
    for (to, at) in [(MoveTo::Now, 0), (MoveTo::At(START + 5_000), 5_000)] {
        let mut world = with_task(0);
        world.nack_delivery(&world.deliveries[0].clone(), None);
        assert_eq!(moved(&mut world, to), due(at));
        world.run(5_000);
        assert_eq!(times(&world), [0, at]);
    }
}

#[test]
fn a_round_that_ends_while_its_move_is_refused_is_followed_by_another() {
    let mut world = with_task(0);
    world.move_task("route", "task", MoveTo::At(START + 90_000));
    world.nack_delivery(&world.deliveries[0].clone(), Some(0));
    world.settle();
    assert_eq!(last_move(&world), (true, None));
    assert_eq!(times(&world), [0, 0]);
}

#[test]
fn a_kicked_task_is_held_by_the_move_after_it() {
    let mut world = with_task(0);
    for round in 0..2 {
        world.nack_delivery(&world.deliveries[round].clone(), Some(0));
        world.settle();
    }
    assert_eq!(world.on_disk(Space::Dead), 1);
    let (route, id) = ("route".into(), "task".into());
    world.operate(AdminRequest::Kick { route, id });
    assert_eq!(moved(&mut world, MoveTo::At(START + 5_000)), due(5_000));
    assert_eq!(times(&world), [0, 0]);
}
