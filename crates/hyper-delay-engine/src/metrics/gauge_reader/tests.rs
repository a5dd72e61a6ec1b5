use super::*;
use crate::metrics::ShardGauges;
use crate::{
    ledger::{Ledger, Op, Position, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_protocol::Compression;
use hyper_delay_store::{Durability, fake::Fake};

const NOW: u64 = 100_000;

const ROUTES: usize = GaugeLimits::SCRAPE.routes;
const COUNTED: usize = GaugeLimits::SCRAPE.counted;
const BEYOND: u64 = GaugeLimits::SCRAPE.beyond;

fn read(store: &Arc<Fake>, memory: &MemoryGauges) -> Result<Gauges, StoreError> {
    read_gauges(store, memory, &GaugeLimits::SCRAPE)
}

fn order(route: &str, id: &str, at: u64) -> ScheduleOrder {
    ScheduleOrder {
        route: route.into(),
        id: id.into(),
        named: true,
        at,
        fire_at: at,
        delay_ms: None,
        compression: Compression::None,
        payload: b"".as_slice().into(),
        replace: false,
        headers: hyper_delay_protocol::Headers::default(),
        terms: None,
    }
}

/// A store with these tasks, numbered in this order.
fn store(
    orders: impl IntoIterator<Item = ScheduleOrder>,
    parked: &[(&str, &str, u64)],
) -> Arc<Fake> {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
    for order in orders {
        ledger.apply(&Op::Schedule(order), NOW).unwrap();
    }
    for (route, id, at) in parked {
        let order = order(route, id, *at);
        let scheduled = ledger.apply(&Op::Schedule(order), NOW).unwrap();
        let crate::ledger::Outcome::Scheduled { seq, .. } = scheduled else {
            panic!("{scheduled:?}");
        };
        let revision = TaskRevision {
            route: (*route).into(),
            id: (*id).into(),
            seq,
            attempt: 0,
        };
        ledger.apply(&Op::Park(revision), NOW).unwrap();
    }
    ledger.commit(Durability::Written, NOW).unwrap();
    store
}

fn memory() -> MemoryGauges {
    MemoryGauges {
        now: NOW,
        ..MemoryGauges::default()
    }
}

#[test]
fn routes_beyond_those_that_are_counted_stay_in_the_sum() {
    let routes = COUNTED as u64 + 50;
    let orders = (0..routes).map(|route| order(&format!("r{route}"), "1", NOW + 500_000));
    let gauges = read(&store(orders, &[]), &memory()).unwrap();
    assert_eq!(gauges.routes.len(), ROUTES);
    assert_eq!(gauges.other.pending, routes - ROUTES as u64);
}

#[test]
fn what_was_overdue_at_the_start_and_is_not_read_yet_is_overdue() {
    let store = store([order("a", "1", 30_000), order("a", "2", 90_000)], &[]);
    let overdue = |from, to| {
        let range = (Position::start_of(from), Position::start_of(to));
        let memory = MemoryGauges {
            overdue: Some(range),
            ..memory()
        };
        read(&store, &memory).unwrap().oldest_overdue
    };
    assert_eq!(overdue(0, NOW), 70_000);
    assert_eq!(overdue(40_000, NOW), 10_000, "the first is in memory");
    assert_eq!(overdue(40_000, 80_000), 0, "the second was not overdue");
    assert_eq!(read(&store, &memory()).unwrap().oldest_overdue, 0);
}

#[test]
fn parked_tasks_are_overdue_unless_they_are_in_memory() {
    let parked = [("a", "1", 20_000), ("a", "2", 60_000), ("b", "1", 50_000)];
    let store = store([], &parked);
    let oldest = |memory: &MemoryGauges| read(&store, memory).unwrap().oldest_overdue;
    assert_eq!(oldest(&memory()), 80_000);
    let mut memory = memory();
    memory
        .backlogs
        .insert("a".into(), Position::start_of(40_000));
    assert_eq!(oldest(&memory), 50_000, "the first of b");
    memory.without_backlog.push("b".into());
    assert_eq!(oldest(&memory), 40_000, "the second of a");
    let row = RouteMemoryGauges {
        oldest_ready: Some(10_000),
        ..RouteMemoryGauges::default()
    };
    memory.routes.insert("c".into(), row);
    assert_eq!(oldest(&memory), 90_000);
    let row = RouteMemoryGauges {
        oldest_ready: Some(50_000),
        ..RouteMemoryGauges::default()
    };
    memory.routes.insert("a".into(), row);
    let gauges = read(&store, &memory).unwrap();
    let rows = gauges.routes.iter();
    let overdue: Vec<_> = rows.map(|(_, row)| row.oldest_overdue).collect();
    assert_eq!(overdue, [50_000, 0], "of a, in memory; b has none");
}

#[test]
fn paused_routes_are_not_overdue() {
    let parked = [("a", "1", 20_000), ("b", "1", 50_000)];
    let store = store([order("a", "2", 10_000)], &parked);
    let ready = |at| RouteMemoryGauges {
        oldest_ready: Some(at),
        ..RouteMemoryGauges::default()
    };
    let gauges = |paused: &[&str]| {
        let mut memory = memory();
        memory.overdue = Some((Position::start_of(0), Position::start_of(NOW)));
        memory.routes.insert("c".into(), ready(5_000));
        memory.routes.insert("d".into(), ready(60_000));
        memory.paused = paused.iter().map(|route| Arc::from(*route)).collect();
        let gauges = read(&store, &memory).unwrap();
        let rows: Vec<_> = gauges
            .routes
            .iter()
            .map(|(_, row)| row.oldest_overdue)
            .collect();
        (gauges.oldest_overdue, gauges.oldest_paused, rows)
    };
    assert_eq!(gauges(&[]), (95_000, 0, vec![90_000, 50_000]));
    assert_eq!(gauges(&["c"]), (90_000, 95_000, vec![90_000, 50_000]));
    assert_eq!(gauges(&["a", "c"]), (50_000, 95_000, vec![0, 50_000]));
    assert_eq!(gauges(&["a"]), (95_000, 90_000, vec![0, 50_000]));
    assert_eq!(gauges(&["a", "b", "c", "d"]), (0, 95_000, vec![0, 0]));
}

#[test]
fn paused_routes_of_a_shard_that_another_node_leads_are_read_from_the_disk() {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
    ledger
        .apply(&Op::Schedule(order("a", "1", 20_000)), NOW)
        .unwrap();
    ledger.apply(&Op::Pause("a".into()), NOW).unwrap();
    ledger.commit(Durability::Written, NOW).unwrap();
    let gauges = |is_led| {
        let shard = ShardGauges {
            is_led,
            ..ShardGauges::default()
        };
        let mut memory = MemoryGauges {
            shard: Some(shard),
            ..memory()
        };
        memory.overdue = Some((Position::start_of(0), Position::start_of(NOW)));
        let gauges = read(&store, &memory).unwrap();
        (
            gauges.oldest_overdue,
            gauges.oldest_paused,
            gauges.routes[0].1.is_paused,
        )
    };
    assert_eq!(gauges(false), (0, 80_000, true));
    // The leader knows what it has resumed and not written yet.
    assert_eq!(gauges(true), (80_000, 0, false));
}

#[test]
fn tasks_beyond_what_was_read_are_counted_on_disk_or_in_memory() {
    let orders = (0..BEYOND + 10).map(|id| order("a", &id.to_string(), NOW + 50_000));
    let store = store(orders, &[]);
    let soon = |soon, soon_unread, unread| {
        let mut memory = memory();
        memory.unread = unread;
        let row = RouteMemoryGauges {
            soon,
            soon_unread,
            ..RouteMemoryGauges::default()
        };
        memory.routes.insert("a".into(), row);
        let gauges = read(&store, &memory).unwrap();
        assert_eq!(gauges.other.due_soon, 0);
        (gauges.routes[0].1.due_soon, gauges.is_due_soon_exact)
    };
    assert_eq!(soon(7, 0, None), (7, true), "all is read");
    let from = Some(Position::start_of(NOW));
    assert_eq!(soon(7, 5, from), (7 + BEYOND, false));
    assert_eq!(soon(7, BEYOND + 5, from), (7 + BEYOND + 5, false));
    let after = Some(Position::start_of(NOW + 50_001));
    assert_eq!(soon(7, 0, after), (7, true));
}

#[test]
fn the_page_reads_at_most_2000_keys_however_many_tasks_there_are() {
    // More of each kind than the page reads, as with millions of them.
    for (routes, tasks, least) in [(3, 10, 5), (3_000, 6_000, 1_000)] {
        let orders = (0..tasks).map(|id| {
            let route = format!("r{}", id % routes);
            order(&route, &id.to_string(), NOW + 1_000)
        });
        let parked: Vec<String> = (0..routes).map(|route| format!("r{route}")).collect();
        let parked: Vec<_> = parked.iter().map(|route| (&**route, "p", NOW)).collect();
        let store = store(orders, &parked);
        let memory = MemoryGauges {
            unread: Some(Position::start_of(NOW)),
            overdue: Some((Position::start_of(0), Position::start_of(NOW))),
            consumers: vec![("idle".into(), 1), ("r1".into(), 2)],
            paused: ["r1".into(), "still".into()].into_iter().collect(),
            ..memory()
        };
        let before = store.calls().keys;
        let gauges = read_gauges(&store, &memory, &GaugeLimits::PAGE).unwrap();
        let read = store.calls().keys - before;
        assert!((least..=2_000).contains(&read), "{read} keys");
        let row = |name: &str| gauges.routes.iter().find(|(route, _)| **route == *name);
        let r1 = row("r1").unwrap().1;
        assert_eq!((r1.consumers, r1.is_paused), (2, true));
        // Routes without tasks are shown if all routes were read.
        for name in ["idle", "still"] {
            assert_eq!(row(name).is_some(), routes == 3, "{name}");
        }
    }
}
