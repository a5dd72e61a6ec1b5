use std::{ops::ControlFlow, sync::Arc};

use serde_json::{Value, json};

use crate::http::state::RouteFilter;
use hyper_delay_engine::ledger::LedgerView;
use hyper_delay_store::{ReadStore, StoreError};

/// The routes in which an id is looked for. With each, two keys are read: its counts and the name.
const ROUTES: usize = 990;

/// The tasks that are returned, at most.
const TASKS: usize = 20;

/// A search for the tasks with an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) struct SearchQuery {
    pub(super) id: String,
    /// The `next` of the answer before. Empty: from the first route on.
    pub(super) after: String,
}

/// The tasks with an id.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) struct SearchResults {
    tasks: Vec<(Arc<str>, &'static str, u64)>,
    /// Whether there are routes that were not looked at.
    more: bool,
    /// The route after which the search continues. Always one that the sender sees.
    next: Option<Arc<str>>,
}

/// Looks for an id on the routes that have tasks, those with shorter names first. Reads at most
/// 2,000 keys.
///
/// # Errors
///
/// If the store cannot be read.
pub(in crate::http) fn search<S: ReadStore>(
    view: &LedgerView<S>,
    query: &SearchQuery,
    is_visible: RouteFilter<'_>,
) -> Result<SearchResults, StoreError> {
    let mut routes: Vec<Arc<str>> = Vec::new();
    let mut seen = 0;
    let mut more = false;
    view.routes_after(&query.after, |route, _| {
        if seen == ROUTES {
            more = true;
            return ControlFlow::Break(());
        }
        seen += 1;
        if is_visible(route) {
            routes.push(route.into());
        }
        ControlFlow::Continue(())
    })?;
    let mut found = SearchResults {
        tasks: Vec::new(),
        more,
        next: routes.last().filter(|_| more).cloned(),
    };
    for route in routes {
        if let Some(name) = view.name(&route, &query.id)? {
            if found.tasks.len() == TASKS {
                found.more = true;
                found.next = found.tasks.last().map(|(route, ..)| route.clone());
                break;
            }
            let state = name.place.state().as_str();
            found.tasks.push((route, state, name.fire_at));
        }
    }
    Ok(found)
}

impl SearchResults {
    pub(super) fn json(&self, id: &str) -> Value {
        let tasks = self.tasks.iter();
        let tasks = tasks.map(|(route, state, fire_at)| {
            json!({"route_key": **route, "id": id, "state": state, "fire_at": fire_at})
        });
        let mut found = json!({"tasks": tasks.collect::<Value>(), "more": self.more});
        if let Some(next) = &self.next {
            found["next"] = json!(**next);
        }
        found
    }
}

/// Returns the answers to a search for an id on all routes, one after another.
///
/// # Errors
///
/// If the store cannot be read.
#[cfg(any(test, feature = "test-util"))]
pub fn search_all<S: ReadStore>(view: &LedgerView<S>, id: &str) -> Result<Vec<Value>, StoreError> {
    let mut answers = Vec::new();
    let mut after = String::new();
    loop {
        let id = id.to_owned();
        let found = search(
            view,
            &SearchQuery {
                id: id.clone(),
                after,
            },
            &|_| true,
        )?;
        answers.push(found.json(&id));
        match found.next {
            Some(next) => after = next.to_string(),
            None => return Ok(answers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_engine::{
        ledger::{Ledger, Op, ScheduleOrder},
        sizes::Sizes,
    };
    use hyper_delay_protocol::Compression;
    use hyper_delay_store::{Durability, fake::Fake};

    /// Returns a store that has a task with this id on each of `routes` routes.
    fn store(routes: usize, id: &str) -> Arc<Fake> {
        let store = Arc::new(Fake::default());
        let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
        for route in (0..routes).map(|route| format!("{route:04}")) {
            let order = ScheduleOrder {
                route: route.into(),
                id: id.into(),
                named: true,
                at: 7,
                fire_at: 7,
                delay_ms: None,
                compression: Compression::None,
                payload: b"".as_slice().into(),
                replace: false,
                headers: hyper_delay_protocol::Headers::default(),
                terms: None,
            };
            ledger.apply(&Op::Schedule(order), 1).unwrap();
        }
        ledger.commit(Durability::Written, 1).unwrap();
        store
    }

    fn find_after(
        store: &Arc<Fake>,
        id: &str,
        after: &str,
        is_visible: RouteFilter<'_>,
    ) -> SearchResults {
        let (id, after) = (id.to_owned(), after.to_owned());
        search(
            &LedgerView::new(store.clone()),
            &SearchQuery { id, after },
            is_visible,
        )
        .unwrap()
    }

    fn find(store: &Arc<Fake>, id: &str, is_visible: RouteFilter<'_>) -> (usize, bool, usize) {
        let before = store.calls().keys;
        let found = find_after(store, id, "", is_visible);
        (found.tasks.len(), found.more, store.calls().keys - before)
    }

    #[test]
    fn at_most_2000_keys_are_read() {
        let few = store(3, "a");
        assert_eq!(find(&few, "a", &|_| true), (3, false, 6));
        assert_eq!(find(&few, "b", &|_| true), (0, false, 6));
        let (found, more, read) = find(&store(3_000, "a"), "b", &|_| true);
        assert_eq!((found, more), (0, true));
        assert!((1_900..=2_000).contains(&read), "{read} keys");
    }

    #[test]
    fn routes_that_are_not_seen_are_left_out() {
        let store = store(30, "a");
        let (found, more, _) = find(&store, "a", &|_| true);
        assert_eq!((found, more), (TASKS, true));
        assert_eq!(find(&store, "a", &|route| route == "0007").0, 1);
    }

    #[test]
    fn a_search_continues_and_finds_each_task_once() {
        let store = store(2_050, "a");
        let mut routes = Vec::new();
        let mut after = String::new();
        loop {
            let before = store.calls().keys;
            let found = find_after(&store, "a", &after, &|_| true);
            assert!(store.calls().keys - before <= 2_000);
            routes.extend(found.tasks.iter().map(|(route, ..)| route.to_string()));
            assert_eq!(found.more, found.next.is_some());
            let Some(next) = found.next else {
                break;
            };
            after = next.to_string();
        }
        let all: Vec<_> = (0..2_050).map(|route| format!("{route:04}")).collect();
        assert_eq!(routes, all);
        let found = find_after(&store, "b", "", &|_| true);
        assert_eq!(found.next.as_deref(), Some("0989"));
    }

    #[test]
    fn a_route_that_is_not_seen_is_no_cursor() {
        let store = store(1_500, "a");
        let found = find_after(&store, "b", "", &|route| route == "0007" || route == "1200");
        assert_eq!((found.more, found.next.as_deref()), (true, Some("0007")));
        let found = find_after(&store, "b", "0007", &|route| route == "1200");
        assert_eq!((found.more, found.next.as_deref()), (true, None));
    }

    #[test]
    fn the_last_route_that_is_looked_at_is_the_last_of_all() {
        assert!(!find(&store(ROUTES, "a"), "b", &|_| true).1);
        assert!(find(&store(ROUTES + 1, "a"), "b", &|_| true).1);
    }
}
