//! Lists of retrying tasks against a model, beside rows that a server of version 0.3 has left.

use std::sync::Arc;

use proptest::{collection::vec, option, prelude::*};

use super::world::{World, failure, schedule};
use crate::ledger::{LedgerView, ListingQuery, Op};
use hyper_delay_protocol::Filter;
use hyper_delay_store::{
    Batch, Bytes, Durability, Space, Store as _,
    fake::Fake,
    record::{self, Place, RetryingEntry, key},
};

/// In the order of the index, which begins with the length of a route.
const ROUTES: [&str; 3] = ["a", "b", "aa"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No round has failed.
    Fresh,
    Waiting,
    Parked,
    Dead,
    Done,
    /// An older server has changed it: its row is left, and its name has no failure.
    Stale,
    /// An older server has changed it, and then it has failed again: it has one row too many.
    StaleAndWaiting,
}

#[derive(Debug, Clone)]
struct DrawnTask {
    /// A place in [`ROUTES`].
    route: usize,
    due: u64,
    state: State,
    reason: Option<&'static str>,
}

impl DrawnTask {
    /// Where the task is on disk, if it is retrying.
    fn place(&self) -> Option<Place> {
        match self.state {
            State::Waiting | State::StaleAndWaiting => Some(Place::Waiting(self.due)),
            State::Parked => Some(Place::Parked(self.due)),
            State::Fresh | State::Dead | State::Done | State::Stale => None,
        }
    }

    fn matches(&self, route: Option<usize>, filter: &Filter) -> bool {
        let reason = self.reason.unwrap_or_default();
        self.place().is_some()
            && route.is_none_or(|route| route == self.route)
            && filter.from.is_none_or(|from| from <= self.due)
            && filter.until.is_none_or(|until| self.due < until)
            && filter.reason.as_deref().is_none_or(|it| it == reason)
    }
}

fn task() -> impl Strategy<Value = DrawnTask> {
    let state = prop_oneof![
        1 => Just(State::Fresh),
        2 => Just(State::Waiting),
        2 => Just(State::Parked),
        1 => Just(State::Dead),
        1 => Just(State::Done),
        1 => Just(State::Stale),
        1 => Just(State::StaleAndWaiting),
    ];
    let reason = prop_oneof![Just(None), Just(Some("x")), Just(Some("y"))];
    (0..ROUTES.len(), 0_u64..12, state, reason).prop_map(|(route, due, state, reason)| DrawnTask {
        route,
        due,
        state,
        reason,
    })
}

/// A store with these tasks, whose ids are their positions.
fn store(tasks: &[DrawnTask]) -> Arc<Fake> {
    let mut world = World::new();
    let mut stale = Batch::new();
    for (position, task) in tasks.iter().enumerate() {
        let (route, id) = (ROUTES[task.route], position.to_string());
        world.apply(&schedule(route, &id, 20_000, b"", false));
        let revision = world.revision(route, &id);
        let failure = || Some(failure(1, task.reason));
        let retry = Op::Retry {
            revision: revision.clone(),
            at: task.due,
            attempt: 1,
            failures: 1,
            failure: failure(),
        };
        let row_at = match task.state {
            State::Stale => Some(task.due),
            State::StaleAndWaiting => Some((task.due + 5) % 12),
            _ => None,
        };
        if let Some(at) = row_at {
            let key = key::retrying(route, at, revision.seq);
            stale.put(Space::Meta, key, record::encode(&RetryingEntry { id: &id }));
        }
        let ops = match task.state {
            State::Fresh | State::Stale => vec![],
            State::Waiting | State::StaleAndWaiting => vec![retry],
            State::Parked => vec![retry, Op::Park(revision)],
            State::Done => vec![retry, Op::Finish(revision)],
            State::Dead => vec![
                retry,
                Op::Bury {
                    revision,
                    at: task.due,
                    attempt: 2,
                    failures: 2,
                    reason: task.reason.map(Arc::from),
                    failure: failure(),
                },
            ],
        };
        for op in ops {
            world.apply(&op);
        }
    }
    world.commit(Durability::Written);
    world.store.commit(stale, Durability::Written).unwrap();
    world.store.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::cases(500)))]

    #[test]
    fn pages_have_each_retrying_task_once_in_order(
        tasks in vec(task(), 0..40),
        route in option::of(0..ROUTES.len()),
        reason in option::of(prop_oneof![Just(""), Just("x"), Just("z")]),
        (from, until) in (option::of(0_u64..12), option::of(0_u64..12)),
        (most, keys) in (1_usize..6, 2_usize..20),
    ) {
        let store = store(&tasks);
        let view = LedgerView::new(store.clone());
        let filter = Filter { reason: reason.map(Arc::from), from, until };
        let mut found = Vec::new();
        let mut after: Option<Bytes> = None;
        loop {
            let query = ListingQuery {
                space: Space::Waiting,
                route: route.map(|route| ROUTES[route]),
                filter: &filter,
                after: after.as_deref(),
            };
            let before = store.calls().keys;
            let page = view.list_retrying(&query, most, keys).unwrap();
            // The key after which the page begins and the one behind its end are read, too.
            let read = store.calls().keys - before;
            prop_assert!(page.read <= keys && read <= page.read + 2, "{read} keys, {page:?}");
            prop_assert!(page.rows.len() <= most);
            prop_assert!(page.next.is_none() || page.next > after, "{page:?} after {after:?}");
            for (row, name) in &page.rows {
                let position: usize = row.id.parse().unwrap();
                let task = &tasks[position];
                prop_assert_eq!(&*row.route, ROUTES[task.route]);
                prop_assert_eq!(Some(name.place), task.place());
                prop_assert_eq!(name.failure.as_ref(), Some(&failure(1, task.reason)));
                found.push(position);
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let mut expected: Vec<usize> = (0..tasks.len())
            .filter(|position| tasks[*position].matches(route, &filter))
            .collect();
        expected.sort_by_key(|position| (tasks[*position].route, tasks[*position].due, *position));
        prop_assert_eq!(found, expected);
    }
}
