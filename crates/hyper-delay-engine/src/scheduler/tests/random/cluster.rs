//! The events of a random history of a shard of a cluster.

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use race_wheel::Tick;

use super::{ROUTES, nth_latest};
use crate::scheduler::{
    ConsumerId, SchedulerInput, UnansweredDelivery,
    tests::{World, client::Client, world::Delivered},
};
use hyper_delay_protocol::RegisterMode;

#[derive(Debug, Clone)]
pub(super) enum ClusterEvent {
    /// Everything happens that can at this instant.
    Settle,
    Lend(usize, u16),
    Recall(usize, u16),
    Bind {
        consumer: usize,
        route: usize,
        exclusive: bool,
    },
    Hold(bool),
    /// Another leader takes over; if it is planned, it learns what is in flight.
    TakeOver {
        planned: bool,
    },
    /// A connection reports to a new leader what it has.
    Report(usize),
    /// A connection reports a delivery that it may not have, counted from the latest, with the
    /// number of another round.
    Adopt {
        back: usize,
        consumer: usize,
        later: u32,
        left: u64,
    },
    Withhold(usize, u64),
    /// No connection has a delivery, counted from the latest, in that round or a later one.
    Gone(usize, u32, bool),
    /// The node of a connection cannot be reached, and is back with this one: it reports some of
    /// what it has, and the rest is gone. That has failed, or was lost with the link.
    Detach {
        consumer: usize,
        reported: usize,
        has_failed: bool,
    },
    /// A delivery, counted from the latest, is acknowledged; if it is `adopted`, one of those.
    Ack {
        back: usize,
        adopted: bool,
        by_name: bool,
    },
    Nack {
        back: usize,
        adopted: bool,
        by_name: bool,
        delay: Option<u64>,
        failed: bool,
    },
    Touch(usize, Option<u64>),
}

pub(super) fn history_event() -> impl Strategy<Value = ClusterEvent> {
    let consumer = 0..4usize;
    let route = 0..ROUTES.len();
    let back = 0..6usize;
    let delay = prop::option::of(0..100u64);
    prop_oneof![
        16 => Just(ClusterEvent::Settle),
        8 => (consumer.clone(), 0..4u16).prop_map(|(consumer, credit)| {
            ClusterEvent::Lend(consumer, credit)
        }),
        4 => (consumer.clone(), 1..4u16).prop_map(|(consumer, credit)| {
            ClusterEvent::Recall(consumer, credit)
        }),
        3 => (consumer.clone(), route, prop::bool::weighted(0.2)).prop_map(
            |(consumer, route, exclusive)| ClusterEvent::Bind { consumer, route, exclusive }
        ),
        1 => Just(ClusterEvent::Hold(true)),
        6 => Just(ClusterEvent::Hold(false)),
        2 => any::<bool>().prop_map(|planned| ClusterEvent::TakeOver { planned }),
        8 => consumer.clone().prop_map(ClusterEvent::Report),
        4 => (back.clone(), consumer.clone(), 0..3u32, 0..2_000u64).prop_map(
            |(back, consumer, later, left)| ClusterEvent::Adopt { back, consumer, later, left }
        ),
        4 => (back.clone(), 0..2_000u64).prop_map(|(back, left)| {
            ClusterEvent::Withhold(back, left)
        }),
        3 => (back.clone(), 0..3u32, any::<bool>()).prop_map(|(back, later, has_failed)| {
            ClusterEvent::Gone(back, later, has_failed)
        }),
        3 => (consumer, 0..4usize, any::<bool>()).prop_map(|(consumer, reported, has_failed)| {
            ClusterEvent::Detach { consumer, reported, has_failed }
        }),
        4 => (back.clone(), any::<bool>(), any::<bool>()).prop_map(|(back, adopted, by_name)| {
            ClusterEvent::Ack { back, adopted, by_name }
        }),
        4 => (back.clone(), any::<[bool; 3]>(), delay).prop_map(
            |(back, [adopted, by_name, failed], delay)| {
                ClusterEvent::Nack { back, adopted, by_name, delay, failed }
            }
        ),
        1 => (back, prop::option::of(1..5_000u64)).prop_map(|(back, extend)| {
            ClusterEvent::Touch(back, extend)
        }),
    ]
}

/// What the nodes remember of the deliveries of earlier leaders.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// What a connection has not reported yet.
    unreported: Vec<(ConsumerId, Unreported)>,
    /// What was reported.
    adopted: Vec<Delivered>,
}

#[derive(Debug)]
struct Unreported {
    routes: Vec<Arc<str>>,
    copies: Vec<(UnansweredDelivery, Tick)>,
}

pub(super) fn step(
    world: &mut World,
    client: &mut Client,
    reports: &mut Reports,
    event: &ClusterEvent,
) {
    let consumer_of = |client: &Client, consumer: usize| client.consumers.get(consumer).copied();
    match *event {
        ClusterEvent::Settle => {
            world.settle();
        }
        ClusterEvent::Lend(consumer, credit) => {
            if let Some(consumer) = consumer_of(client, consumer) {
                world.lend(consumer, credit);
            }
        }
        ClusterEvent::Recall(consumer, credit) => {
            if let Some(consumer) = consumer_of(client, consumer) {
                world.recall(consumer, credit);
            }
        }
        ClusterEvent::Bind {
            consumer,
            route,
            exclusive,
        } => {
            if let Some(consumer) = consumer_of(client, consumer) {
                let mode = match exclusive {
                    true => RegisterMode::Exclusive,
                    false => RegisterMode::Shared,
                };
                world.lead(SchedulerInput::Registered(
                    consumer,
                    ROUTES[route].into(),
                    mode,
                ));
            }
        }
        ClusterEvent::Hold(holds_deliveries) => {
            world.lead(SchedulerInput::DeliveriesHeld(holds_deliveries));
        }
        ClusterEvent::TakeOver { planned } => take_over(world, client, reports, planned),
        ClusterEvent::Report(consumer) => {
            if let Some(consumer) = consumer_of(client, consumer) {
                report(world, reports, consumer);
            }
        }
        ClusterEvent::Adopt {
            back,
            consumer,
            later,
            left,
        } => {
            let consumer = consumer_of(client, consumer);
            if let (Some(consumer), Some(delivered)) = (consumer, nth_latest(world, back)) {
                let adopted = UnansweredDelivery {
                    route: delivered.route,
                    id: delivered.id,
                    seq: delivered.seq,
                    attempt: (delivered.attempt + later).saturating_sub(1).max(1),
                    left: Duration::from_millis(left),
                };
                adopt(world, reports, consumer, adopted);
            }
        }
        ClusterEvent::Withhold(back, left) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.withhold(delivered.seq, Duration::from_millis(left));
            }
        }
        ClusterEvent::Gone(back, later, has_failed) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.gone(delivered.seq, delivered.attempt + later, has_failed);
            }
        }
        ClusterEvent::Detach {
            consumer,
            reported,
            has_failed,
        } => detach(world, client, reports, (consumer, reported, has_failed)),
        ClusterEvent::Ack {
            back,
            adopted,
            by_name,
        } => {
            if let Some(delivered) = reports.nth_latest(world, back, adopted) {
                let number = client.number;
                client.known(&delivered.route, &delivered.id).removed = Some(number);
                match by_name {
                    true => world.ack_by_name(&delivered),
                    false => world.ack_delivery(&delivered),
                }
            }
        }
        ClusterEvent::Nack {
            back,
            adopted,
            by_name,
            delay,
            failed,
        } => {
            if let Some(delivered) = reports.nth_latest(world, back, adopted) {
                match (by_name, failed) {
                    (true, _) => world.nack_by_name(&delivered, delay, failed),
                    (false, true) => world.nack_delivery(&delivered, delay),
                    (false, false) => world.give_back(&delivered, delay),
                }
            }
        }
        ClusterEvent::Touch(back, extend_ms) => {
            if let Some(delivered) = reports.nth_latest(world, back, true) {
                world.touch(&delivered, extend_ms);
            }
        }
    }
}

impl Reports {
    fn nth_latest(&self, world: &World, back: usize, adopted: bool) -> Option<Delivered> {
        match adopted {
            true => self.adopted.iter().rev().nth(back).cloned(),
            false => nth_latest(world, back),
        }
    }
}

fn take_over(world: &mut World, client: &mut Client, reports: &mut Reports, planned: bool) {
    let withheld = world.withheld_next();
    let in_flight: Vec<_> = world.server.scheduler().in_flight().collect();
    let unreported = client.consumers.iter().map(|consumer| {
        let routes = world.server.scheduler().routes.iter();
        let routes = routes.filter(|(_, route)| route.consumers().contains(consumer));
        // Its node does not report what waits for its id.
        let is_sent = |copy: &UnansweredDelivery| {
            let (front, id) = (world.server.front(), &copy.id);
            !front.queues(*consumer, id, (copy.seq, copy.attempt))
        };
        let copies = in_flight.iter();
        let copies = copies.filter(|(holder, copy)| holder == consumer && is_sent(copy));
        let copies = copies.map(|(_, copy)| (copy.clone(), world.now.after(copy.left)));
        let unreported = Unreported {
            routes: routes.map(|(name, _)| name.clone()).collect(),
            copies: copies.collect(),
        };
        (*consumer, unreported)
    });
    reports.unreported = unreported.collect();
    world.take_over(&client.consumers);
    for known in client.known.values_mut() {
        known.pending.clear();
        known.moving = 0;
    }
    if planned {
        for (seq, left) in withheld {
            world.withhold(seq, left);
        }
    }
}

fn detach(
    world: &mut World,
    client: &mut Client,
    reports: &mut Reports,
    (place, reported, has_failed): (usize, usize, bool),
) {
    let Some(detached) = client.consumers.get(place).copied() else {
        return;
    };
    let _unwritten = world.sockets.unblock(detached);
    let copies = world.detach(detached);
    let consumer = world.connect(&[]);
    client.consumers[place] = consumer;
    reports.unreported.retain(|(holder, _)| *holder != detached);
    for (number, copy) in copies.into_iter().enumerate() {
        if number < reported {
            adopt(world, reports, consumer, copy);
        } else {
            world.gone(copy.seq, copy.attempt, has_failed);
        }
    }
}

fn report(world: &mut World, reports: &mut Reports, consumer: ConsumerId) {
    let mut unreported = reports.unreported.iter();
    let Some(place) = unreported.position(|(holder, _)| *holder == consumer) else {
        return;
    };
    let (_, Unreported { routes, copies }) = reports.unreported.remove(place);
    for (adopted, until) in copies {
        let left = Duration::from_nanos(until.since(world.now.monotonic));
        adopt(
            world,
            reports,
            consumer,
            UnansweredDelivery { left, ..adopted },
        );
    }
    for route in routes {
        world.lead(SchedulerInput::Registered(
            consumer,
            route,
            RegisterMode::Shared,
        ));
    }
}

fn adopt(
    world: &mut World,
    reports: &mut Reports,
    consumer: ConsumerId,
    adopted: UnansweredDelivery,
) {
    reports.adopted.push(Delivered {
        consumer,
        route: adopted.route.clone(),
        id: adopted.id.clone(),
        attempt: adopted.attempt,
        seq: adopted.seq,
        until: world.now.after(adopted.left),
        at: world.now.wall_millis(),
    });
    world.adopt(consumer, adopted);
}
