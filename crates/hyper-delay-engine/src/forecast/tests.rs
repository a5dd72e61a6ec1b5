use std::{collections::BTreeMap, sync::Arc};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    ledger::{Ledger, Op, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_protocol::Compression;
use hyper_delay_store::fake::Fake;

fn schedule(id: u64, at: u64) -> Op {
    Op::Schedule(ScheduleOrder {
        route: "route".into(),
        id: id.to_string().into(),
        named: true,
        at,
        fire_at: at,
        delay_ms: None,
        compression: Compression::None,
        payload: Box::default(),
        replace: true,
        headers: hyper_delay_protocol::Headers::default(),
        terms: None,
    })
}

fn cancel(id: u64) -> Op {
    Op::Cancel {
        route: "route".into(),
        id: id.to_string().into(),
    }
}

/// A store with its ledger, and a forecast that begins at some time.
struct World {
    store: Arc<Fake>,
    ledger: Ledger<Fake>,
    forecast: Forecast,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(Fake::default());
        Self {
            ledger: Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap(),
            store,
            forecast: Forecast::default(),
        }
    }

    fn write(&mut self, ops: &[Op]) {
        for op in ops {
            self.ledger.apply(op, 0).unwrap();
        }
        let mut batch = self.ledger.take_batch().unwrap();
        let due = batch.take_waiting_changes();
        self.store
            .commit(batch, hyper_delay_store::Durability::Synced)
            .unwrap();
        self.forecast.committed(&due);
    }

    fn count_all(&self) {
        while self.forecast.is_counting() {
            self.forecast
                .count_next_slice(&*self.store, Sizes::SMALL)
                .unwrap();
        }
    }
}

#[test]
fn spans_begin_with_the_current_one() {
    let mut world = World::new();
    world.count_all();
    let now = 3 * DAY + 5 * HOUR + 7 * MINUTE + 30;
    let ahead = [0, MINUTE, MINUTE + 1, 59 * MINUTE, 60 * MINUTE, 3 * DAY];
    let tasks: Vec<Op> = (0..)
        .zip(ahead)
        .map(|(id, by)| schedule(id, now + by))
        .collect();
    world.write(&tasks);
    let future = world.forecast.read(now);
    assert_eq!(future.counted_until, None);
    assert_eq!(future.minutes.from, 3 * DAY + 5 * HOUR + 7 * MINUTE);
    assert_eq!(future.hours.from, 3 * DAY + 5 * HOUR);
    assert_eq!(future.days.from, 3 * DAY);
    assert_eq!(future.minutes.tasks.len(), 60);
    assert_eq!(future.minutes.tasks[..2], [1, 2]);
    assert_eq!(future.minutes.tasks[59], 1);
    assert_eq!(future.minutes.tasks.iter().sum::<u64>(), 4);
    assert_eq!(future.hours.tasks.len(), 48);
    assert_eq!(future.hours.tasks.iter().sum::<u64>(), 5);
    assert_eq!(future.days.tasks.len(), 365);
    assert_eq!((future.days.tasks[0], future.days.tasks[3]), (5, 1));
    world.write(&[cancel(0), cancel(5), schedule(1, now + 2 * MINUTE)]);
    let future = world.forecast.read(now);
    assert_eq!(future.minutes.tasks[..3], [0, 1, 1]);
    assert_eq!(future.days.tasks.iter().sum::<u64>(), 4);
}

#[test]
fn counts_say_how_far_they_go_while_the_tasks_are_read() {
    let mut world = World::new();
    let tasks: Vec<Op> = (0..8).map(|id| schedule(id, MINUTE * id)).collect();
    world.write(&tasks);
    world.forecast = Forecast::default();
    world
        .forecast
        .count_next_slice(&*world.store, Sizes::SMALL)
        .unwrap();
    let future = world.forecast.read(0);
    assert_eq!(future.counted_until, Some(3 * MINUTE));
    assert_eq!(future.minutes.tasks.iter().sum::<u64>(), 3);
    world.count_all();
    assert_eq!(world.forecast.read(0).minutes.tasks.iter().sum::<u64>(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::cases(200)))]

    #[test]
    fn counts_are_those_of_the_store_whenever_counting_begins(
        steps in vec((0_u64..12, 0_u64..40, 0_u8..5), 1..80),
        begin in 0_usize..80,
    ) {
        let mut world = World::new();
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let mut batch = Vec::new();
        for (place, (id, minute, kind)) in steps.into_iter().enumerate() {
            if place == begin {
                world.write(&std::mem::take(&mut batch));
                world.forecast = Forecast::default();
            }
            match kind {
                0 => {
                    batch.push(cancel(id));
                    model.remove(&id);
                }
                1 => world.write(&std::mem::take(&mut batch)),
                2 => {
                    world.write(&std::mem::take(&mut batch));
                    world.forecast.count_next_slice(&*world.store, Sizes::SMALL).unwrap();
                }
                _ => {
                    batch.push(schedule(id, minute * MINUTE));
                    model.insert(id, minute);
                }
            }
        }
        world.write(&batch);
        world.count_all();
        let mut minutes = vec![0; 60];
        for minute in model.values() {
            minutes[usize::try_from(*minute).unwrap()] += 1;
        }
        let future = world.forecast.read(0);
        prop_assert_eq!(future.minutes.tasks, minutes);
        prop_assert_eq!(future.days.tasks[0], model.len() as u64);
    }
}
