//! The invariants of the scheduler and the disk after every step.

use std::{collections::BTreeSet, sync::Arc};

use super::World;
use crate::ledger::{LedgerView, Op, Outcome, Position, SweepAct};
use crate::scheduler::{
    CommitJob, Scheduler,
    rate_limits::RateKey,
    task::{DeliveryState, DueBy, PendingChange},
};
use crate::shard::ShardId;
use hyper_delay_store::{
    Space,
    fake::Fake,
    record::{self, Name, Place, key},
};

/// Checks the promise: every task on disk is waiting, parked, dead, or in flight with a live copy
/// and a timer of its own.
pub(super) fn check(world: &World) {
    let scheduler = world.server.scheduler();
    let unreported = unreported(world);
    let mut on_disk = BTreeSet::new();
    let mut retrying = retrying(world);
    for (key, value) in world.store.all(Space::Names) {
        let name: Name = record::decode(&value).unwrap();
        let route_length = usize::from(key[0]);
        let route = std::str::from_utf8(&key[1..=route_length]).unwrap();
        on_disk.insert(name.seq);
        check_failure(&name);
        if let Some(key) = name.retrying_key(route) {
            assert!(retrying.remove(&*key), "{name:?} is not in the index");
        }
        if scheduler.tasks.contains(name.seq) || unreported.contains(&name.seq) {
            continue;
        }
        match name.place {
            Place::Waiting(at) => {
                let position = Position { at, seq: name.seq };
                assert!(will_be_read(scheduler, position), "{name:?} is stuck");
            }
            Place::Parked(at) => {
                let position = Position { at, seq: name.seq };
                let backlog = scheduler.routes.get(route).map(|route| route.backlog());
                let is_in_backlog =
                    backlog.is_none_or(|from| from.is_some_and(|from| from <= position));
                assert!(is_in_backlog, "{name:?} is stuck");
            }
            Place::Dead(_) => {}
        }
    }
    assert!(retrying.is_empty(), "no task has {retrying:?}");
    check_states(world, &on_disk);
    world.check_credit();
    world.check_waiting();
    if !world.is_shard() {
        check_front(world);
    }
}

/// The keys of the index of retrying tasks. Their number is the stored one.
fn retrying(world: &World) -> BTreeSet<Vec<u8>> {
    let meta = world.store.all(Space::Meta).into_iter();
    let rows = meta.map(|(key, _)| key.to_vec());
    let rows: BTreeSet<_> = rows.filter(|key| key.starts_with(key::RETRYING)).collect();
    let view = LedgerView::new(world.store.clone());
    assert_eq!(view.retrying("").unwrap(), rows.len() as u64);
    rows
}

/// A task whose rounds have failed has its last failure.
fn check_failure(name: &Name) {
    let has_failure = name.failure.is_some();
    assert!(name.failures == 0 || has_failure, "{name:?}");
    assert!(!name.is_retrying() || name.failures > 0, "{name:?}");
}

/// The front of a single server and its scheduler agree about each connection: its routes, its credit,
/// and its copies.
fn check_front(world: &World) {
    let (front, scheduler) = (world.server.front(), world.server.scheduler());
    assert_eq!(front.len(), scheduler.consumers.len());
    for consumer in front.connections() {
        let state = scheduler.consumers.get(consumer).expect("it is open");
        let routes = front.routes_of(consumer, ShardId(0));
        let routes: Vec<_> = routes.map(|(route, _)| route).collect();
        assert!(
            state.routes().eq(routes.iter().copied()),
            "{routes:?}: {state:?}"
        );
        if !state.is_closing() {
            assert_eq!(state.credit(), front.lent(consumer), "{state:?}");
        }
        for (id, delivery) in front.in_time(consumer, world.now.monotonic) {
            let copy = state.copy(delivery.seq);
            let is_it = copy.is_some_and(|copy| copy.attempt == delivery.attempt && copy.id == *id);
            assert!(is_it, "{delivery:?}: {copy:?}");
        }
        for copy in state.unanswered() {
            let known = front.delivery(consumer, &copy.id, (copy.seq, copy.attempt));
            let is_lost = known.map(|delivery| delivery.is_lost);
            // The scheduler learns later that the time of a lost copy has passed, and after a stall the
            // round lasts longer.
            let is_over = || {
                let sent = world.last_sent(consumer, copy.seq);
                sent.is_some_and(|it| it.until <= world.now.monotonic)
            };
            assert!(
                is_lost == Some(copy.is_lost) || known.is_none() && copy.is_lost && is_over(),
                "{known:?}: {copy:?}"
            );
        }
    }
}

/// Checks what is true while the scheduler waits for an event: a route with a consumer that has room
/// has read what is parked, unless its queue or the memory is full.
pub(super) fn check_at_rest(scheduler: &Scheduler<Fake>) {
    let settings = &scheduler.settings;
    let in_memory = scheduler.tasks.len();
    for (name, route) in scheduler.routes.iter() {
        let mut consumers = route.consumers().iter();
        let has_room = consumers.any(|consumer| {
            let consumer = scheduler.consumers.get(*consumer);
            consumer.is_some_and(|consumer| consumer.has_room())
        });
        let limit = route.settings().deliveries_per_second;
        let must_wait = limit.is_some_and(|limit| {
            let rate = RateKey::Deliveries(name.clone());
            let now = scheduler.now.monotonic;
            scheduler
                .rate_limits
                .nanos_until_available(&rate, limit, now)
                > 0
        });
        if !has_room
            || must_wait
            || scheduler.paused.contains(name)
            || scheduler.takeover.holds_deliveries()
        {
            continue;
        }
        let (queued, backlog) = (route.queued(), route.backlog());
        let is_read = backlog.is_none() || queued > settings.ready / 2;
        let is_full = in_memory >= 2 * settings.window_tasks;
        assert!(
            is_read || is_full && queued > 0,
            "{name} has a consumer with room, {queued} tasks in its queue and others from \
             {backlog:?} on that are not read; {in_memory} tasks are in memory"
        );
    }
}

fn will_be_read(scheduler: &Scheduler<Fake>, position: Position) -> bool {
    let overdue = scheduler.horizon.overdue();
    let is_overdue = overdue.is_some_and(|range| range.from <= position && position < range.to);
    is_overdue || scheduler.horizon.has_more() && !scheduler.horizon.has_read(position)
}

/// Each task in memory has what its state says, and nothing else has a timer.
fn check_states(world: &World, on_disk: &BTreeSet<u64>) {
    let scheduler = world.server.scheduler();
    let (under_way, moving) = (under_way(world), moving(world));
    let (mut waiting, mut resting, mut in_flight) = (0, 0, 0);
    for (seq, task, state) in scheduler.tasks.iter() {
        let most = world.outcomes.most_failures(seq);
        assert!(task.failures() <= most, "{task:?} has failed {most} times");
        match state {
            DeliveryState::Due => panic!("{task:?} is neither queued nor parked"),
            DeliveryState::Waiting { timer, due } => {
                waiting += 1;
                resting += usize::from(*due == DueBy::Rest);
                assert!(
                    scheduler.timers.get(*timer).is_some(),
                    "{task:?} has no timer"
                );
                assert!(*due != DueBy::Wall || !task.is_parked());
            }
            DeliveryState::Ready => {
                let name = (task.route.clone(), task.id.clone());
                assert!(
                    !moving.contains(&name) || !on_disk.contains(&seq),
                    "{task:?} is not held while it is moved"
                );
                assert!(
                    !scheduler.paused.contains(&task.route),
                    "{task:?} is paused"
                );
                let route = scheduler
                    .routes
                    .get(&task.route)
                    .expect("a route with consumers");
                let position = task.position(seq);
                assert_eq!(route.first_ready(position), Some(position), "{task:?}");
            }
            DeliveryState::InFlight(round) => {
                in_flight += 1;
                assert!(round.has_timer(&scheduler.timers), "{task:?} has no timer");
                let copies = round.holders().count() + round.missing() as usize;
                assert!(copies > 0, "{task:?} has no live copy");
                // A copy of a revision that is gone from the disk may not have been sent; the
                // scheduler will be told that it is gone.
                for holder in round.holders().filter(|_| on_disk.contains(&seq)) {
                    let consumer = scheduler.consumers.get(holder).expect("an open connection");
                    let mut copies = consumer.in_flight();
                    let has_copy = copies.any(|copy| copy.id == task.id && copy.seq == seq);
                    assert!(has_copy, "{holder} has no copy of {task:?}");
                    let attempt = task.attempt();
                    let is_queued = world.sockets.has(holder, seq, attempt);
                    let mut written = world.deliveries.iter();
                    let is_written = written
                        .any(|it| (it.consumer, it.seq, it.attempt) == (holder, seq, attempt));
                    let mut adopted = world.nodes.adopted.iter();
                    let is_adopted = adopted.any(|it| (it.0, it.1) == (holder, seq));
                    let front = world.server.front();
                    let waits = front.queues(holder, &task.id, (seq, attempt));
                    assert!(
                        is_queued || is_written || is_adopted || waits,
                        "{holder} will not be sent its copy of {task:?}"
                    );
                }
            }
            DeliveryState::Committing(change) => {
                let name = (task.route.clone(), task.id.clone());
                let is_held = *change == PendingChange::Move && moving.contains(&name);
                assert!(
                    under_way.contains(&seq) || is_held,
                    "{change:?} of {task:?} is not in flight"
                );
            }
        }
    }
    assert_eq!(waiting, scheduler.tasks.waiting());
    assert_eq!(resting, scheduler.tasks.resting());
    assert!(
        resting <= scheduler.settings.most_resting(),
        "{resting} tasks rest"
    );
    assert_eq!(in_flight, scheduler.tasks.in_flight());
    check_copies(scheduler);
    for (name, route) in scheduler.routes.iter() {
        assert!(route.len() > 0, "{name} has no consumer");
        for consumer in route.consumers() {
            let consumer = scheduler
                .consumers
                .get(*consumer)
                .expect("an open connection");
            assert!(consumer.has_route(name));
        }
    }
    assert!(
        !scheduler.routes.has_departed(),
        "few routes are left at once"
    );
    assert_eq!(scheduler.routes.departing(), 0);
}

/// Each copy that takes credit or an id of its consumer ends with a round, or by a timer of its
/// own.
fn check_copies(scheduler: &Scheduler<Fake>) {
    for (consumer, copy) in scheduler.consumers.unanswered() {
        let round = scheduler.tasks.round(copy.seq);
        let ends_with_round = round.is_some_and(|round| {
            round.has_timer(&scheduler.timers) && round.holders().any(|holder| holder == consumer)
        });
        let ends_alone = copy
            .end
            .is_some_and(|end| scheduler.timers.get(end).is_some());
        assert!(
            ends_with_round || ends_alone,
            "no timer ends the copy with {consumer}: {copy:?}"
        );
    }
}

/// The revisions with a change that is not on disk, or not reported.
fn under_way(world: &World) -> BTreeSet<u64> {
    let submitted = world.committer.jobs.iter().map(|CommitJob { op, .. }| op);
    let on_disk = world
        .committer
        .reported
        .iter()
        .map(|committed| &committed.op);
    submitted.chain(on_disk).filter_map(seq_of).collect()
}

/// The names of the tasks with a move that is not on disk, or not reported.
fn moving(world: &World) -> BTreeSet<(Arc<str>, Arc<str>)> {
    let submitted = world.committer.jobs.iter().map(|job| &job.op);
    let on_disk = world.committer.reported.iter().map(|job| &job.op);
    let moves = submitted.chain(on_disk).filter_map(|op| match op {
        Op::Move(wanted) => Some((wanted.route.clone(), wanted.id.clone())),
        Op::Sweep(sweep) if matches!(sweep.act, SweepAct::Move(_)) => {
            Some((sweep.route.clone(), sweep.id.clone()))
        }
        _ => None,
    });
    moves.collect()
}

/// The revisions of which something is on disk that the scheduler was not told.
fn unreported(world: &World) -> BTreeSet<u64> {
    let reported =
        world
            .committer
            .reported
            .iter()
            .filter_map(|committed| match &committed.outcome {
                Outcome::Scheduled { seq, .. } => Some(*seq),
                Outcome::Kicked(kicked) => kicked.as_ref().map(|kicked| kicked.seq),
                Outcome::Moved(moved) => Some(moved.seq),
                _ => seq_of(&committed.op),
            });
    reported.collect()
}

fn seq_of(op: &Op) -> Option<u64> {
    match op {
        Op::Finish(revision) | Op::Park(revision) => Some(revision.seq),
        Op::Expire { revision, .. } => Some(revision.seq),
        Op::Retry { revision, .. } | Op::Bury { revision, .. } | Op::Count { revision, .. } => {
            Some(revision.seq)
        }
        Op::Audited(audited) => seq_of(&audited.op),
        Op::Sweep(sweep) => Some(sweep.seq),
        Op::Schedule(_)
        | Op::Cancel { .. }
        | Op::Kick { .. }
        | Op::Move(_)
        | Op::Delete { .. }
        | Op::Pause(_)
        | Op::Resume(_)
        | Op::BeginBulk(_)
        | Op::AdvanceBulk(_)
        | Op::AdvanceLowWater(_)
        | Op::CheckRetrying { .. } => None,
    }
}
