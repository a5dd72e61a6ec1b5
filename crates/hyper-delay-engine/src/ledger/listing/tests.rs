use super::*;
use crate::{
    ledger::{Ledger, Op, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_protocol::Compression;
use hyper_delay_store::{Durability, fake::Fake};

const KEYS: usize = 2_000;

fn order(route: &str, id: u64, at: u64) -> Op {
    Op::Schedule(ScheduleOrder {
        route: route.into(),
        id: id.to_string().into(),
        named: false,
        at,
        fire_at: at,
        delay_ms: None,
        compression: Compression::None,
        payload: Box::default(),
        replace: false,
        headers: hyper_delay_protocol::Headers::default(),
        terms: None,
    })
}

fn dead(route: &str, id: u64, seq: u64, at: u64, reason: Option<&str>) -> Op {
    Op::Bury {
        revision: TaskRevision {
            route: route.into(),
            id: id.to_string().into(),
            seq,
            attempt: 1,
        },
        at,
        attempt: 1,
        failures: 1,
        reason: reason.map(Arc::from),
        failure: None,
    }
}

/// A store with these operations.
fn view(ops: &[Op]) -> LedgerView<Fake> {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
    for op in ops {
        ledger.apply(op, 0).unwrap();
    }
    ledger.commit(Durability::Written, 0).unwrap();
    LedgerView::new(store)
}

fn ids(page: &ListingPage) -> Vec<&str> {
    page.rows.iter().map(|row| &*row.id).collect()
}

#[test]
fn waiting_tasks_are_listed_by_time_over_all_routes_or_of_one() {
    let tasks = [("b", 1, 30), ("a", 2, 10), ("a", 3, 20), ("b", 4, 40)];
    let view = view(&tasks.map(|(route, id, at)| order(route, id, at)));
    let all = Filter::default();
    let mut listing = ListingQuery {
        space: Space::Waiting,
        route: None,
        filter: &all,
        after: None,
    };
    let page = view.list(&listing, 100, KEYS).unwrap();
    assert_eq!(ids(&page), ["2", "3", "1", "4"]);
    assert!(page.next.is_none());
    listing.route = Some("b");
    assert_eq!(ids(&view.list(&listing, 100, KEYS).unwrap()), ["1", "4"]);
    let some = Filter {
        from: Some(20),
        until: Some(40),
        ..Filter::default()
    };
    listing = ListingQuery {
        filter: &some,
        route: None,
        ..listing
    };
    assert_eq!(ids(&view.list(&listing, 100, KEYS).unwrap()), ["3", "1"]);
}

#[test]
fn listed_tasks_have_their_terms() {
    let terms = Terms {
        expires_at: Some(99),
        max_attempts: Some(3),
        ..Terms::default()
    };
    let mut ops = [order("a", 1, 10), order("a", 2, 20), order("a", 3, 30)];
    for op in &mut ops[1..] {
        if let Op::Schedule(order) = op {
            order.terms = Some(Box::new(terms));
        }
    }
    let [one, two, three] = ops;
    let view = view(&[one, two, three, dead("a", 3, 3, 40, Some("no disk"))]);
    let listed = |space| {
        let listing = ListingQuery {
            space,
            route: Some("a"),
            filter: &Filter::default(),
            after: None,
        };
        let rows = view.list(&listing, 100, KEYS).unwrap().rows;
        rows.into_iter().map(|row| row.terms).collect::<Vec<_>>()
    };
    let given = Some(Box::new(terms));
    assert_eq!(listed(Space::Waiting), [None, given.clone()]);
    assert_eq!(listed(Space::Dead), [given]);
}

#[test]
fn pages_follow_each_other_and_read_a_bounded_number_of_keys() {
    let rare = |id| if id % 100 == 99 { "rare" } else { "usual" };
    let tasks: Vec<Op> = (0..1_000).map(|id| order(rare(id), id, 10 + id)).collect();
    let view = view(&tasks);
    let filter = Filter::default();
    let mut after: Option<Bytes> = None;
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let listing = ListingQuery {
            space: Space::Waiting,
            route: Some("rare"),
            filter: &filter,
            after: after.as_deref(),
        };
        let page = view.list(&listing, 100, 70).unwrap();
        assert!(page.read <= 71, "{}", page.read);
        found.extend(page.rows.iter().map(|row| row.id.to_string()));
        pages += 1;
        match page.next {
            Some((key, _)) => after = Some(key),
            None => break,
        }
    }
    let expected: Vec<String> = (0..10).map(|id| (id * 100 + 99).to_string()).collect();
    assert_eq!(found, expected);
    assert!((14..=16).contains(&pages), "{pages}");
}

#[test]
fn dead_letters_are_filtered_by_reason_and_time() {
    let mut ops: Vec<Op> = (1..=6).map(|id| order("a", id, 10)).collect();
    let reasons = [None, Some("x"), Some("y"), Some("x"), None, Some("x")];
    for (place, reason) in (0..).zip(reasons) {
        ops.push(dead("a", place + 1, place + 1, 100 + place, reason));
    }
    ops.extend([order("b", 7, 10), dead("b", 7, 7, 50, Some("x"))]);
    let view = view(&ops);
    let listed = |route, filter: &Filter| {
        let listing = ListingQuery {
            space: Space::Dead,
            route,
            filter,
            after: None,
        };
        let page = view.list(&listing, 100, KEYS).unwrap();
        page.rows
            .iter()
            .map(|row| row.id.to_string())
            .collect::<Vec<_>>()
    };
    let of = |reason: &str| Filter {
        reason: Some(reason.into()),
        ..Filter::default()
    };
    assert_eq!(listed(Some("a"), &of("x")), ["2", "4", "6"]);
    assert_eq!(listed(Some("a"), &of("")), ["1", "5"]);
    assert_eq!(listed(None, &of("x")), ["2", "4", "6", "7"]);
    let until = Filter {
        until: Some(103),
        ..of("x")
    };
    assert_eq!(listed(Some("a"), &until), ["2"]);
    let from = Filter {
        from: Some(101),
        until: Some(105),
        ..Filter::default()
    };
    assert_eq!(listed(Some("a"), &from), ["2", "3", "4", "5"]);
    assert_eq!(listed(None, &from), ["2", "3", "4", "5"]);
}
