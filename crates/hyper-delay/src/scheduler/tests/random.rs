//! Random histories: whatever happens, what was acknowledged is delivered until it is acknowledged,
//! and never early. After each step the invariants hold.

use proptest::prelude::*;

use super::{
    Step, World,
    client::{Client, Name},
    invariants,
    world::Delivered,
};
use crate::{
    config::{Config, Quota},
    protocol::{BulkAct, Filter, Mode, Request, Terms},
    record::key,
    scheduler::Input,
    store::Space,
};

/// The second one is hedged, and so is the third, with a longer delay.
const ROUTES: [&str; 3] = ["plain", "hedged", "hedged-slowly"];

#[derive(Debug, Clone)]
enum Happens {
    /// One of eight ids on a route, `ahead` milliseconds from now.
    Schedule {
        id: u8,
        route: usize,
        ahead: u64,
        replace: bool,
        terms: Box<TermsAhead>,
    },
    Commit,
    Tell,
    Tick,
    Pass(u64),
    Connect,
    /// A connection is about to close.
    Closing(usize),
    Disconnect(usize),
    Register {
        consumer: usize,
        route: usize,
        credit: Option<u16>,
        exclusive: bool,
    },
    Unregister(usize, usize),
    /// A delivery, counted from the latest, is acknowledged.
    Ack(usize),
    /// A delivery, counted from the latest, is acknowledged with the number of the first round.
    AckOfTheFirst(usize),
    /// A delivery, counted from the latest, is given back, with or without a delay.
    Nack(usize, Option<u64>),
    /// More time is asked for to answer a delivery, counted from the latest.
    Touch(usize, Option<u64>),
    Cancel(u8, usize),
    Kick(u8, usize),
    Delete(u8, usize),
    Pause(usize),
    Resume(usize),
    Bulk(BulkAct, usize),
    /// The content of the task of a delivery, counted from the latest, becomes unreadable.
    Damage(usize),
    Restart,
    SetClock(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    let id = 0..8u8;
    let route = 0..ROUTES.len();
    let consumer = 0..4usize;
    let back = 0..6usize;
    prop_oneof![
        8 => (id.clone(), route.clone(), 0..300u64, any::<bool>(), terms()).prop_map(
            |(id, route, ahead, replace, terms)| {
                let terms = Box::new(terms);
                Happens::Schedule { id, route, ahead, replace, terms }
            }
        ),
        5 => Just(Happens::Commit),
        5 => Just(Happens::Tell),
        5 => Just(Happens::Tick),
        5 => (0..150u64).prop_map(Happens::Pass),
        // Beyond an ack timeout, and so that the low-water mark is raised.
        1 => (900..15_000u64).prop_map(Happens::Pass),
        2 => Just(Happens::Connect),
        1 => consumer.clone().prop_map(Happens::Closing),
        1 => consumer.clone().prop_map(Happens::Disconnect),
        4 => (consumer.clone(), route.clone(), prop::option::of(1..4u16), any::<bool>()).prop_map(
            |(consumer, route, credit, exclusive)| {
                Happens::Register { consumer, route, credit, exclusive }
            }
        ),
        1 => (consumer, route.clone()).prop_map(|(consumer, route)| {
            Happens::Unregister(consumer, route)
        }),
        4 => back.clone().prop_map(Happens::Ack),
        1 => back.clone().prop_map(Happens::AckOfTheFirst),
        3 => (back.clone(), prop::option::of(0..100u64)).prop_map(|(back, delay)| {
            Happens::Nack(back, delay)
        }),
        2 => (back.clone(), prop::option::of(1..5_000u64)).prop_map(|(back, extend)| {
            Happens::Touch(back, extend)
        }),
        2 => (id.clone(), route.clone()).prop_map(|(id, route)| Happens::Cancel(id, route)),
        1 => (id.clone(), route.clone()).prop_map(|(id, route)| Happens::Kick(id, route)),
        1 => (id, route.clone()).prop_map(|(id, route)| Happens::Delete(id, route)),
        1 => route.clone().prop_map(Happens::Pause),
        1 => route.clone().prop_map(Happens::Resume),
        2 => (
            prop::sample::select(vec![BulkAct::Kick, BulkAct::Delete, BulkAct::Purge]),
            route,
        )
            .prop_map(|(act, route)| Happens::Bulk(act, route)),
        1 => back.prop_map(Happens::Damage),
        1 => Just(Happens::Restart),
        1 => (-100_000..100_000i64).prop_map(Happens::SetClock),
    ]
}

/// The terms of a schedule; its expiry this many milliseconds after its due time.
#[derive(Debug, Clone)]
struct TermsAhead {
    expires: Option<u64>,
    terms: Terms,
}

fn terms() -> impl Strategy<Value = TermsAhead> {
    use prop::option::{of, weighted};
    let expires = weighted(0.15, prop_oneof![1..400u64, 1..20_000u64]);
    let delays = (of(1..300u64), of(0..300u64));
    let terms = weighted(0.3, (of(1..3_000u64), of(1..4u32), delays));
    (expires, terms).prop_map(|(expires, terms)| {
        let (ack_timeout_ms, max_attempts, (first, more)) = terms.unwrap_or_default();
        TermsAhead {
            expires,
            terms: Terms {
                expires_at: None,
                ack_timeout_ms,
                max_attempts,
                retry_delay_ms: first,
                max_retry_delay_ms: more.map(|more| first.unwrap_or(1) + more),
            },
        }
    })
}

#[derive(Debug, Clone)]
struct Options {
    window_tasks: usize,
    ready: usize,
    max_attempts: Option<u32>,
    dedupe_seconds: u64,
    /// Of each route.
    deliveries_per_second: Option<u32>,
    /// Of the first route.
    max_attempts_of_route: Option<u32>,
    ack_timeout_of_route: Option<u64>,
}

fn options() -> impl Strategy<Value = Options> {
    let window_tasks = prop_oneof![Just(3), Just(1000)];
    let ready = prop_oneof![Just(1), Just(4)];
    let max_attempts = prop::option::of(1..3u32);
    let rate = prop::option::of(prop_oneof![1..4u32, Just(100)]);
    let of_route = (prop::option::of(1..3u32), prop::option::of(1..3_000u64));
    (window_tasks, ready, max_attempts, rate, of_route).prop_map(
        |(window_tasks, ready, max_attempts, deliveries_per_second, of_route)| Options {
            window_tasks,
            ready,
            max_attempts,
            dedupe_seconds: 300,
            deliveries_per_second,
            max_attempts_of_route: of_route.0,
            ack_timeout_of_route: of_route.1,
        },
    )
}

fn live(history: Vec<Happens>, options: &Options) {
    let quota = Quota {
        deliveries_per_second: options.deliveries_per_second,
        ..Quota::default()
    };
    let of_route = Terms {
        ack_timeout_ms: options.ack_timeout_of_route,
        max_attempts: options.max_attempts_of_route,
        ..Terms::default()
    };
    let config = Config {
        hedge: [("hedged".to_owned(), 60), ("hedged-*".to_owned(), 400)].into(),
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        max_retry_delay_ms: 200,
        max_attempts: options.max_attempts,
        dedupe_seconds: options.dedupe_seconds,
        credit: 2,
        routes: [("plain".to_owned(), of_route)].into(),
        quotas: ["plain", "hedged*"]
            .map(|key| (key.to_owned(), quota))
            .into(),
        ..Config::default()
    };
    let mut world = World::with(config, 200, options.window_tasks, options.ready);
    let mut client = Client::default();
    for happens in history {
        let before = world.deliveries.len();
        step(&mut world, &mut client, &happens);
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
    let known = client.known(&delivered.route, &delivered.id);
    let earliest = known.earliest.expect("it was scheduled");
    assert!(earliest <= client.latest, "{delivered:?} is early");
    let is_gone = client.gone.contains(&delivered.seq);
    assert!(
        !is_gone,
        "{delivered:?} is done, or was cancelled while no consumer had it"
    );
}

fn step(world: &mut World, client: &mut Client, happens: &Happens) {
    client.number += 1;
    let number = client.number;
    match *happens {
        Happens::Schedule {
            id,
            route,
            ahead,
            replace,
            ref terms,
        } => {
            let at = world.now.wall_millis() + ahead;
            let (route, id) = (ROUTES[route], id.to_string());
            let known = client.known(route, &id);
            known.earliest = Some(known.earliest.map_or(at, |earliest| earliest.min(at)));
            known.pending.push_back((number, replace));
            // What replaces is new content, and the rest may be the same again.
            let payload = if replace { number } else { 0 };
            let expires_at = terms.expires.map(|after| at + after);
            known.may_expire |= expires_at.is_some();
            let terms = Terms {
                expires_at,
                ..terms.terms
            };
            let terms = Some(terms).filter(|terms| *terms != Terms::default());
            world.schedule_with((route, &id), at, payload, replace, terms);
        }
        Happens::Commit => world.step(Step::Commit),
        Happens::Tell => world.step(Step::Tell),
        Happens::Tick => world.step(Step::Tick),
        Happens::Pass(millis) => world.pass(millis),
        Happens::Connect => client.consumers.push(world.connect(&[])),
        Happens::Closing(consumer) => {
            if let Some(consumer) = client.consumers.get(consumer) {
                world.input(Input::Closing(*consumer));
            }
        }
        Happens::Disconnect(consumer) => {
            if consumer < client.consumers.len() {
                let consumer = client.consumers.remove(consumer);
                world.input(Input::Closed(consumer));
            }
        }
        Happens::Register {
            consumer,
            route,
            credit,
            exclusive,
        } => {
            if let Some(consumer) = client.consumers.get(consumer) {
                let route = ROUTES[route].into();
                let mode = match exclusive {
                    true => Mode::Exclusive,
                    false => Mode::Shared,
                };
                let request = Request::Register {
                    route,
                    credit,
                    mode,
                    accept: None,
                };
                world.ask(*consumer, request);
            }
        }
        Happens::Unregister(consumer, route) => {
            if let Some(consumer) = client.consumers.get(consumer) {
                let route = ROUTES[route].into();
                world.ask(*consumer, Request::Unregister { route });
            }
        }
        Happens::Ack(back) | Happens::AckOfTheFirst(back) => {
            if let Some(mut delivered) = nth_latest(world, back) {
                if matches!(happens, Happens::AckOfTheFirst(_)) {
                    delivered.attempt = 1;
                }
                client.known(&delivered.route, &delivered.id).removed = Some(number);
                world.ack_delivery(&delivered);
            }
        }
        Happens::Nack(back, delay) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.nack_delivery(&delivered, delay);
            }
        }
        Happens::Touch(back, extend_ms) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.touch(&delivered, extend_ms);
            }
        }
        Happens::Cancel(id, route) => {
            let id = id.to_string();
            client.known(ROUTES[route], &id).removed = Some(number);
            world.cancel(ROUTES[route], &id);
        }
        Happens::Kick(id, route) => {
            let (route, id) = (ROUTES[route].into(), id.to_string().into());
            world.ask(0, Request::Kick { route, id });
        }
        Happens::Delete(id, route) => {
            let id = id.to_string();
            client.known(ROUTES[route], &id).removed = Some(number);
            let (route, id) = (ROUTES[route].into(), id.into());
            world.ask(0, Request::Delete { route, id });
        }
        Happens::Pause(route) => {
            let route = ROUTES[route].into();
            world.ask(0, Request::Pause { route });
        }
        Happens::Resume(route) => {
            let route = ROUTES[route].into();
            world.ask(0, Request::Resume { route });
        }
        Happens::Bulk(act, route) => {
            if act != BulkAct::Kick {
                for id in 0..8u8 {
                    client.known(ROUTES[route], &id.to_string()).removed = Some(number);
                }
            }
            world.bulk(act, ROUTES[route], Filter::default());
        }
        Happens::Damage(back) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.unreadable.insert(delivered.seq);
            }
        }
        Happens::Restart => {
            world.restart();
            world.cancelled.clear();
            world.finished.clear();
            client.consumers.clear();
            for known in client.known.values_mut() {
                known.pending.clear();
            }
        }
        Happens::SetClock(by) => world.set_clock(by),
    }
}

/// In the end every promised task is delivered or dead, and everything is acknowledged.
fn finish(mut world: World, mut client: Client) {
    for consumer in client.consumers.drain(..) {
        world.input(Input::Closed(consumer));
    }
    world.run(2_000);
    let before = world.deliveries.len();
    world.acking = true;
    world.unreadable.clear();
    world.connect(&ROUTES);
    for route in ROUTES {
        let route = route.into();
        world.ask(0, Request::Resume { route });
    }
    for _ in 0..3 {
        for route in ROUTES {
            for id in 0..8u8 {
                let (route, id) = (route.into(), id.to_string().into());
                world.ask(0, Request::Kick { route, id });
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
            !known.is_owed() || delivered(name),
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
    assert!(world.scheduler.timers.is_empty(), "a timer is left");
}

fn nth_latest(world: &World, back: usize) -> Option<Delivered> {
    world.deliveries.iter().rev().nth(back).cloned()
}

proptest! {
    #![proptest_config(crate::cases(5_000))]

    #[test]
    fn whatever_happens_no_task_is_lost_stuck_or_early(
        history in prop::collection::vec(happens(), 1..120),
        options in options(),
    ) {
        live(history, &options);
    }
}
