//! Kills the server at random moments while producers and consumers run, then checks that no task
//! is lost.
//!
//! `HYPER_DELAY_KILLS` sets the number of kills of both parts, which run at the same time.
//! `HYPER_DELAY_SEED` repeats the random decisions of a part.

use std::{
    env,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde_json::{Value, json};
use testkit::{PATIENCE, Server, Wire, request::now, wire::line};

use crate::{
    audit::{audit, back_up},
    consumer::Consumer,
    producer::Producer,
    world::{ROUTES, World},
};

const PRODUCERS: usize = 3;

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(value.parse().expect("the variable is a whole number"))
}

mod no_acknowledged_task_is_lost_early_or_repeated_after_kills {
    #[test]
    fn part_1() {
        super::kill();
    }

    #[test]
    fn part_2() {
        super::kill();
    }
}

/// Half of the kills.
fn kill() {
    let kills = number("HYPER_DELAY_KILLS").unwrap_or(16).div_ceil(2);
    let seed = number("HYPER_DELAY_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("HYPER_DELAY_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let world = Arc::new(World::default());
    world.book().begins(now());
    let mut server = start(directory.path(), &mut random);
    world.server(Some((0, server.address)));

    let producers: Vec<_> = (0..PRODUCERS)
        .map(|name| {
            let producer = Producer::new(world.clone(), name, random.u64(..));
            thread::spawn(move || producer.run())
        })
        .collect();
    let routes = [&ROUTES[..2], &ROUTES[1..], &ROUTES[2..], &ROUTES, &ROUTES];
    let consumers = routes.map(|routes| {
        let consumer = Consumer::new(world.clone(), routes.to_vec(), random.u64(..));
        thread::spawn(move || consumer.run())
    });

    let mut audited = 0;
    for life in 1..=kills {
        // Most lives are long enough for requests; some end during the start.
        let life_time = match random.u8(0..10) {
            // Long enough for the low-water mark to advance.
            _ if life == 10 || life % 60 == 0 => random.u64(10_000..10_100),
            0 => random.u64(0..30),
            _ => random.u64(30..700),
        };
        thread::sleep(Duration::from_millis(life_time));
        world.server(None);
        server.kill();
        if random.u8(0..8) == 0 {
            audited += audit(directory.path(), &mut world.book());
        }
        world.book().begins(now());
        server = start(directory.path(), &mut random);
        if random.u8(0..8) == 0 {
            back_up(directory.path(), &server);
        }
        world.server(Some((life, server.address)));
    }

    world.draining.store(true, Ordering::SeqCst);
    for producer in producers {
        producer.join().unwrap();
    }
    let stats = drained(&server);
    world.over.store(true, Ordering::SeqCst);
    for consumer in consumers {
        consumer.join().unwrap();
    }
    drop(server);

    let book = world.book();
    let figures = book.figures;
    let lost = book.lost();
    println!("{audited} tasks audited between lives");
    println!(
        "{kills} kills; {} schedules acknowledged, {} replacements; {} cancelled; {} expired; \
         {} deliveries, {} of them redeliveries; {} acks confirmed; {} lost, {} early, {} delivered after \
         removal, {} never sent",
        figures.acknowledged,
        figures.replaced,
        figures.cancelled,
        figures.expired,
        figures.deliveries,
        figures.redeliveries,
        figures.removed,
        lost.len(),
        figures.early,
        figures.again,
        figures.unknown
    );
    let faults = &book.faults[..book.faults.len().min(20)];
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(lost.is_empty(), "{:#?}", &lost[..lost.len().min(20)]);
    assert!(figures.acknowledged > kills && figures.removed > kills);
    assert!(figures.expired > 0 || kills < 10);
    for state in ["waiting", "parked", "in_flight", "dead"] {
        assert_eq!(stats[state], 0, "{stats}");
    }
}

fn start(directory: &Path, random: &mut Rng) -> Server {
    let sync = match random.u8(0..4) {
        0 => "interval:50ms",
        _ => "always",
    };
    crate::start(directory).config(json!({"sync": sync})).run()
}

/// Waits until the server has no task or its counts stay the same for 20 seconds. Returns the
/// counts.
fn drained(server: &Server) -> Value {
    let mut wire = Wire::to(server.address).unwrap();
    let mut last = Value::Null;
    let mut changed = Instant::now();
    loop {
        wire.send(&line(&json!({"kind": "stats"}))).unwrap();
        let stats = loop {
            if let Some(stats) = wire.receive(PATIENCE).unwrap().pop() {
                break stats;
            }
        };
        let left = |state: &str| stats[state].as_u64().unwrap();
        let pending = left("waiting") + left("parked") + left("in_flight");
        if pending + left("dead") == 0 {
            return stats;
        }
        if pending == 0 {
            // Tasks whose `max_attempts` rounds have failed.
            for route in ROUTES {
                let kick = json!({"kind": "kick_all", "route_key": route});
                wire.send(&line(&kick)).unwrap();
                while wire.receive(PATIENCE).unwrap().is_empty() {}
            }
        }
        if stats != last {
            last = stats;
            changed = Instant::now();
        } else if changed.elapsed() > Duration::from_secs(20) {
            return stats;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
