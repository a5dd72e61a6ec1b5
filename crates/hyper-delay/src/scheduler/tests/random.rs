//! Random histories: whatever happens, what was acknowledged is delivered until it is acknowledged, and never
//! early.

use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;

use super::{Step, World, world::START};
use crate::{
    protocol::{Named, Reply, Request},
    scheduler::{ConsumerId, Input},
};

#[derive(Debug, Clone)]
enum Happens {
    /// One of so many ids, so many milliseconds ahead.
    Schedule(u8, u64),
    Commit,
    Tell,
    Tick,
    Pass(u64),
    Connect,
    Disconnect,
    /// The latest delivery but so many is acknowledged, or given back.
    Ack(usize),
    Nack(usize),
    Cancel(u8),
    Restart,
    SetClock(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => (any::<u8>(), 0..300u64).prop_map(|(id, ahead)| Happens::Schedule(id, ahead)),
        4 => Just(Happens::Commit),
        4 => Just(Happens::Tell),
        4 => Just(Happens::Tick),
        4 => (0..150u64).prop_map(Happens::Pass),
        // So that the low-water mark is raised.
        1 => (9_000..15_000u64).prop_map(Happens::Pass),
        1 => Just(Happens::Connect),
        1 => Just(Happens::Disconnect),
        4 => (0..4usize).prop_map(Happens::Ack),
        1 => (0..4usize).prop_map(Happens::Nack),
        1 => any::<u8>().prop_map(Happens::Cancel),
        1 => Just(Happens::Restart),
        1 => (-100_000..100_000i64).prop_map(Happens::SetClock),
    ]
}

/// What a client knows.
#[derive(Default)]
struct Client {
    consumers: Vec<ConsumerId>,
    /// Acknowledged by the server.
    promised: BTreeSet<Arc<str>>,
    /// Removed, as the server has confirmed.
    removed: BTreeSet<Arc<str>>,
    /// Asked to be cancelled.
    cancelled: BTreeSet<Arc<str>>,
    heard: usize,
    /// Asked for, and not due yet by the wall clock so far. What has come due stays so if the clock is set back.
    early: BTreeSet<String>,
}

impl Client {
    fn hear(&mut self, world: &World) {
        for (_, reply) in &world.replies[self.heard..] {
            match reply {
                Reply::Ack { id, .. } => {
                    self.promised.insert(id.clone());
                }
                Reply::Acked {
                    id, removed: true, ..
                } => {
                    self.removed.insert(id.clone());
                }
                _ => {}
            }
        }
        self.heard = world.replies.len();
    }
}

fn due(id: &str) -> u64 {
    id.split('@').nth(1).unwrap().parse().unwrap()
}

fn live(history: Vec<Happens>, window_tasks: usize) {
    let mut world = World::new(200, window_tasks, 4);
    let mut client = Client::default();
    for (number, happens) in history.into_iter().enumerate() {
        let before = world.deliveries.len();
        match happens {
            Happens::Schedule(id, ahead) => {
                let at = world.now.wall_millis() + ahead;
                let id = format!("{id}-{number}@{at}");
                world.schedule(&id, at);
                client.early.insert(id);
            }
            Happens::Commit => world.step(Step::Commit),
            Happens::Tell => world.step(Step::Tell),
            Happens::Tick => world.step(Step::Tick),
            Happens::Pass(millis) => world.pass(millis),
            Happens::Connect => {
                let consumer = world.connect(&["route"]);
                client.consumers.push(consumer);
            }
            Happens::Disconnect => {
                if let Some(consumer) = client.consumers.pop() {
                    world.input(Input::Closed(consumer));
                }
            }
            Happens::Ack(back) => {
                if let Some((consumer, id, attempt, _)) = nth_latest(&world, back) {
                    world.ack(consumer, &id, attempt);
                }
            }
            Happens::Nack(back) => {
                if let Some((consumer, id, attempt, _)) = nth_latest(&world, back) {
                    let delivery = Named {
                        id,
                        route: None,
                        attempt: Some(attempt),
                    };
                    world.ask(
                        consumer,
                        Request::Nack {
                            delivery,
                            delay_ms: Some(50),
                        },
                    );
                }
            }
            Happens::Cancel(id) => {
                let prefix = format!("{id}-");
                let ids = client.promised.iter().filter(|id| id.starts_with(&prefix));
                for id in ids.cloned().collect::<Vec<_>>() {
                    client.cancelled.insert(id.clone());
                    world.ask(
                        0,
                        Request::Cancel {
                            route: "route".into(),
                            id,
                        },
                    );
                }
            }
            Happens::Restart => {
                world.restart();
                client.consumers.clear();
            }
            Happens::SetClock(by) => world.set_clock(by),
        }
        let now = world.now.wall_millis();
        client.early.retain(|id| due(id) > now);
        let removed = client.removed.clone();
        client.hear(&world);
        for (_, id, _, at) in &world.deliveries[before..] {
            assert!(!client.early.contains(&**id), "{id} was delivered at {at}");
            assert!(
                !removed.contains(id),
                "{id} was delivered after it was done"
            );
        }
    }
    finish(world, client);
}

/// In the end everything that was promised has come, and is gone.
fn finish(mut world: World, mut client: Client) {
    let consumer = world.connect(&["route"]);
    for round in 0.. {
        let before = world.deliveries.len();
        for consumer in client.consumers.drain(..) {
            world.input(Input::Closed(consumer));
        }
        for (to, id, attempt, _) in world.deliveries.clone() {
            if to == consumer {
                world.ack(consumer, &id, attempt);
            }
        }
        // Longer than any backoff and any step of the clock.
        world.run(400_000);
        client.hear(&world);
        if world.deliveries.len() == before && round > 1 {
            break;
        }
        assert!(round < 100, "it comes to an end");
    }
    let delivered = world.delivered();
    for id in client.promised.difference(&client.cancelled) {
        assert!(delivered.contains_key(id), "{id} was promised");
    }
    for space in [
        crate::store::Space::Tasks,
        crate::store::Space::Names,
        crate::store::Space::Waiting,
        crate::store::Space::Parked,
        crate::store::Space::Counts,
    ] {
        assert_eq!(world.on_disk(space), 0, "{space:?}");
    }
}

fn nth_latest(world: &World, back: usize) -> Option<(ConsumerId, Arc<str>, u32, u64)> {
    world.deliveries.iter().rev().nth(back).cloned()
}

#[test]
fn the_clock_of_the_tests_starts_where_they_think() {
    assert_eq!(World::new(200, 4, 4).now.wall_millis(), START);
}

proptest! {
    #![proptest_config(crate::cases(400))]

    #[test]
    fn whatever_happens_nothing_is_lost_or_early(history in prop::collection::vec(happens(), 1..120)) {
        live(history, 1000);
    }

    #[test]
    fn nor_with_room_for_three(history in prop::collection::vec(happens(), 1..120)) {
        live(history, 3);
    }
}
