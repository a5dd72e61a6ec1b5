//! Random histories: whatever happens, what was acknowledged is delivered until it is acknowledged,
//! and never early. After each step the invariants hold.

mod cluster;
mod history;
mod options;
mod step;

use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;

use super::{
    Step, World,
    client::{Client, Name},
    invariants,
    world::Delivered,
};
use crate::{
    front::FrontInput,
    scheduler::{ConsumerId, SchedulerInput},
    sizes::{Size, counts},
};
use cluster::{ClusterEvent, Reports};
use history::{HistoryEvent, history_event};
use hyper_delay_protocol::{
    AdminRequest, BulkAct, BulkMove, BulkMoveTo, Due, Filter, MoveTo, RegisterMode, TaskRequest,
    Terms,
};
use hyper_delay_store::{Space, record::key};
use options::{Options, options};
use step::step;

/// The second one is hedged, and so is the third, with a longer delay.
const ROUTES: [&str; 3] = ["plain", "hedged", "hedged-slowly"];

/// An event of any server or of a shard of a cluster.
#[derive(Debug, Clone)]
enum InCluster {
    Usual(HistoryEvent),
    Cluster(ClusterEvent),
}

/// The connections at the beginning of a history.
#[derive(Debug)]
enum Start {
    /// Of a single server, with the routes of each.
    Registered(Vec<[bool; 3]>),
    /// Of a shard, with all routes, and the credit that each is lent.
    Lent(Vec<u16>),
}

fn live(history: impl IntoIterator<Item = InCluster>, options: &Options, start: Start) {
    let mut config = options.config();
    if let Start::Lent(_) = start {
        config.credit = 0;
    }
    let mut world = World::with(config, 200, options.window_tasks, options.ready);
    let mut client = Client::default();
    match start {
        Start::Registered(connections) => {
            for registered in connections {
                let routes = ROUTES.iter().zip(registered);
                let routes: Vec<&str> = routes.filter(|(_, is)| *is).map(|(it, _)| *it).collect();
                client.consumers.push(world.connect(&routes));
            }
        }
        Start::Lent(credits) => {
            for credit in credits {
                let consumer = world.connect(&ROUTES);
                world.lend(consumer, credit);
                client.consumers.push(consumer);
            }
        }
    }
    let mut reports = Reports::default();
    for event in history {
        let before = world.deliveries.len();
        match event {
            InCluster::Usual(event) => step(&mut world, &mut client, &event),
            InCluster::Cluster(event) => {
                client.number += 1;
                cluster::step(&mut world, &mut client, &mut reports, &event);
            }
        }
        client.latest = client.latest.max(world.now.wall_millis());
        for delivered in &world.deliveries[before..] {
            check_delivery(&mut client, delivered);
        }
        client.hear(&mut world);
        invariants::check(&world);
    }
    finish(world, client);
}

fn check_delivery(client: &mut Client, delivered: &Delivered) {
    let latest = client.latest;
    let known = client.known(&delivered.route, &delivered.id);
    let earliest = known.earliest.expect("it was scheduled");
    assert!(earliest <= latest, "{delivered:?} is early");
    let moved = known.moved.filter(|(seq, _)| *seq == delivered.seq);
    assert!(
        moved.is_none_or(|(_, due)| due <= latest),
        "{delivered:?} was moved to {moved:?}"
    );
    let is_gone = client.gone.contains(&delivered.seq);
    assert!(
        !is_gone,
        "{delivered:?} is done, or was cancelled while no consumer had it"
    );
}

/// In the end every promised task is delivered or dead, and everything is acknowledged.
fn finish(mut world: World, mut client: Client) {
    for consumer in client.consumers.drain(..) {
        world.close(consumer);
    }
    world.run(2_000);
    let before = world.deliveries.len();
    world.acking = true;
    world.unreadable.clear();
    let routes = client.known.keys().map(|(route, _)| route.to_string());
    let mut routes: BTreeSet<String> = routes.collect();
    routes.extend(ROUTES.map(str::to_owned));
    if world.is_shard() {
        world.lead(SchedulerInput::DeliveriesHeld(false));
    }
    // A connection may have one route only.
    for route in &routes {
        let consumer = world.connect(&[route]);
        if world.is_shard() {
            world.lend(consumer, 100);
        }
    }
    for route in ROUTES {
        let route = route.into();
        world.operate(AdminRequest::Resume { route });
    }
    for _ in 0..3 {
        for route in &routes {
            for id in 0..8u8 {
                let (route, id) = (route.as_str().into(), id.to_string().into());
                world.operate(AdminRequest::Kick { route, id });
            }
        }
        // Longer than any backoff and any step of the clock.
        world.run(400_000);
        invariants::check(&world);
    }
    client.hear(&mut world);
    let delivered = |name: &Name| {
        let mut deliveries = world.deliveries[before..].iter();
        deliveries.any(|delivered| delivered.route == name.0 && delivered.id == name.1)
    };
    for (name, known) in &client.known {
        assert!(
            !known.is_owed() || world.old_dead.contains(name) || delivered(name),
            "{name:?} was promised: {known:?}"
        );
    }
    for space in [
        Space::Tasks,
        Space::Names,
        Space::Waiting,
        Space::Parked,
        Space::Dead,
        Space::Counts,
    ] {
        assert_eq!(world.on_disk(space), 0, "{space:?}");
    }
    let meta = world.store.all(Space::Meta);
    let index = meta.iter().filter(|(key, _)| key.starts_with(key::EXPIRY));
    assert_eq!(index.count(), 0, "the index of expiry");
    assert_eq!(world.in_memory(), 0);
    assert!(world.server.scheduler().inherited.is_empty());
    assert!(
        world.server.scheduler().timers.is_empty(),
        "a timer is left"
    );
}

fn nth_latest(world: &World, back: usize) -> Option<Delivered> {
    world.deliveries.iter().rev().nth(back).cloned()
}

/// In a cluster connections are lent their credit.
fn in_cluster() -> impl Strategy<Value = InCluster> {
    // Registrations give no credit.
    let usual = history_event().prop_map(|event| match event {
        HistoryEvent::Register {
            consumer,
            route,
            exclusive,
            ..
        } => HistoryEvent::Register {
            consumer,
            route,
            credit: None,
            exclusive,
        },
        event => event,
    });
    prop_oneof![
        1 => usual.prop_map(InCluster::Usual),
        1 => cluster::history_event().prop_map(InCluster::Cluster),
    ]
}

/// The cases of one of four parts of `number`, or of `PROPTEST_CASES`.
fn part_of(number: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(testkit::cases(number));
    config.cases = config.cases.div_ceil(4);
    config
}

/// With fewer cases, not every size is reached.
const ENOUGH_CASES: u32 = 50;

/// The sizes that histories reach. They have fewer routes than may be paused, and no tokens.
const REACHED: [Size; 4] = [
    Size::EndedJobs,
    Size::RetentionKeys,
    Size::RecentValues,
    Size::BulkTasks,
];

/// The same for a shard. Few of its bulk operations find more tasks than a batch has.
const REACHED_BY_SHARD: [Size; 3] = [Size::EndedJobs, Size::RetentionKeys, Size::RecentValues];

/// Makes a module with a test for each part of `cases`, which run at the same time. Each reaches the
/// sizes of the engine.
macro_rules! in_parts {
    ($name:ident, $cases:literal, $reached:expr, ($($argument:ident in $strategy:expr),+), $body:expr) => {
        mod $name {
            use super::*;

            fn part() {
                let config = part_of($cases);
                let is_enough = config.cases >= ENOUGH_CASES;
                counts::begin();
                proptest!(config, |($($argument in $strategy),+)| {
                    $body;
                });
                if is_enough {
                    counts::assert_reached($reached, 1);
                }
            }

            #[test]
            fn part_1() {
                part();
            }

            #[test]
            fn part_2() {
                part();
            }

            #[test]
            fn part_3() {
                part();
            }

            #[test]
            fn part_4() {
                part();
            }
        }
    };
}

in_parts!(
    whatever_happens_no_task_is_lost_stuck_or_early,
    1_000,
    &REACHED,
    (
        history in prop::collection::vec(history_event(), 1..120),
        options in options(),
        connections in prop::collection::vec(any::<[bool; 3]>(), 0..4)
    ),
    live(history.into_iter().map(InCluster::Usual), &options, Start::Registered(connections))
);

in_parts!(
    whatever_happens_to_a_shard_no_task_is_lost_stuck_early_or_delivered_twice,
    400,
    &REACHED_BY_SHARD,
    (
        history in prop::collection::vec(in_cluster(), 1..200),
        options in options(),
        lent in prop::collection::vec(0..4u16, 0..4)
    ),
    live(history, &options, Start::Lent(lent))
);
