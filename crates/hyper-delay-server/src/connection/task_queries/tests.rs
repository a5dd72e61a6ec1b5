//! What requests read, counted.

mod world;

use super::*;
use crate::connection::{dead_letters::DeadLetterRequest, operator_queries};
use hyper_delay_protocol::{BulkAct, BulkRequest, FailureKind, Filter, TaskState};
use hyper_delay_store::fake::Fake;
use world::World;

const PAYLOAD: &[u8] = b"hello";

/// The most keys that a request may read.
const MOST: usize = 2_000;

fn lists() -> Vec<ListRequest> {
    let mut lists = Vec::new();
    for route in [None, Some("b"), Some("other")] {
        for state in [
            None,
            Some(TaskState::Waiting),
            Some(TaskState::Parked),
            Some(TaskState::Dead),
            Some(TaskState::Retrying),
        ] {
            for (limit, payload) in [(1, false), (100, true), (1_000, false), (1_000, true)] {
                lists.push(ListRequest {
                    route: route.map(Arc::from),
                    state,
                    filter: Filter::default(),
                    after: None,
                    limit,
                    payload,
                });
            }
        }
    }
    lists
}

fn letters(route: &str, filter: Filter, payload: bool) -> DeadLetterRequest {
    DeadLetterRequest {
        route: route.into(),
        after: None,
        limit: 1_000,
        filter,
        payload,
    }
}

#[tokio::test]
async fn every_request_reads_a_bounded_number_of_keys() {
    for count in [10, 20_000] {
        let world = World::new(count);
        for list in lists() {
            let (_, next, read) = world.list(&list).await;
            assert!(read <= MOST, "{read} keys for {list:?}");
            let after = ListRequest {
                after: next,
                ..list
            };
            let (_, _, read) = world.list(&after).await;
            assert!(read <= MOST, "{read} keys for {after:?}");
        }
        let no_such = Filter {
            reason: Some("z".into()),
            ..Filter::default()
        };
        for filter in [Filter::default(), no_such] {
            for payload in [false, true] {
                let request = letters("a", filter.clone(), payload);
                let (_, _, _, read) = world.dead(&request).await;
                assert!(read <= MOST, "{read} keys for {request:?}");
            }
        }
        for reason in [None, Some("x")] {
            let request = BulkRequest {
                act: BulkAct::Delete,
                route: "a".into(),
                filter: Filter {
                    reason: reason.map(Arc::from),
                    ..Filter::default()
                },
                in_flight: false,
            };
            let dry_run = async |responder: Responder<'_, Fake>| {
                operator_queries::count(responder, request).await;
            };
            let (reply, read) = world.ask(dry_run).await;
            assert!(read <= MOST, "{read} keys for {reply:?}");
            let Reply::Count { tasks, more, .. } = reply else {
                panic!("{reply:?}");
            };
            let matching = match reason {
                None => count,
                Some(_) => count / 2,
            };
            assert!(
                tasks == matching || more && tasks < matching,
                "{tasks} of {matching}"
            );
        }
        let reasons = async |responder: Responder<'_, Fake>| {
            operator_queries::reasons(responder, None, TaskState::Dead, None).await;
        };
        let (reply, read) = world.ask(reasons).await;
        assert!(read <= MOST, "{read} keys for {reply:?}");
        let reasons = async |responder: Responder<'_, Fake>| {
            operator_queries::reasons(responder, None, TaskState::Retrying, None).await;
        };
        let (reply, read) = world.ask(reasons).await;
        assert!(read <= MOST, "{read} keys for {reply:?}");
        let Reply::Reasons { reasons, next } = reply else {
            panic!("{reply:?}");
        };
        assert!(
            reasons
                .iter()
                .all(|row| row.failure == Some(FailureKind::Nack))
        );
        let sum: u64 = reasons.iter().map(|row| row.tasks).sum();
        assert_eq!(sum == 2 * count, next.is_none(), "{sum} of {count}");
        let jobs = async |responder: Responder<'_, Fake>| operator_queries::jobs(responder).await;
        let (_, read) = world.ask(jobs).await;
        assert!(read <= MOST, "{read} keys for the jobs");
        let audit = async |responder: Responder<'_, Fake>| {
            operator_queries::audit(responder, None, 1_000).await;
        };
        let (_, read) = world.ask(audit).await;
        assert!(read <= MOST, "{read} keys for the audit");
        let task = async |responder: Responder<'_, Fake>| {
            get(responder, "a".into(), "4".into(), true).await;
        };
        let (reply, read) = world.ask(task).await;
        assert!(matches!(reply, Reply::Task { task: Some(_), .. }));
        assert!(read <= 3, "{read}");
    }
}

#[tokio::test]
async fn pages_of_a_list_have_every_task_once() {
    let world = World::new(40);
    for list in lists().into_iter().filter(|list| list.limit < 1_000) {
        let mut all = Vec::new();
        let mut request = list.clone();
        loop {
            let (tasks, next, _) = world.list(&request).await;
            assert!(tasks.len() <= usize::from(list.limit));
            all.extend(tasks);
            match next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        let routes = match list.route.as_deref() {
            None => 2,
            Some("b") => 1,
            Some(_) => 0,
        };
        let states = if list.state.is_some() { 1 } else { 3 };
        if list.state == Some(TaskState::Retrying) {
            assert!(all.iter().all(|task| task.last_failure.is_some()));
        }
        assert_eq!(all.len(), routes * states * 40, "{list:?}");
        let mut ids: Vec<_> = all.iter().map(|task| task.id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all.len(), "{list:?}");
        for task in &all {
            let number: u64 = task.id.parse().unwrap();
            assert_eq!(task.fire_at, 1_000 + number);
            let payload = task
                .content
                .as_ref()
                .map(|content| content.payload.as_deref());
            assert_eq!(payload, list.payload.then_some(Some(PAYLOAD)));
        }
    }
}

#[tokio::test]
async fn retrying_tasks_are_filtered_by_reason_and_time() {
    let world = World::new(40);
    let list = |route: Option<&str>, reason: Option<&str>, from, until| ListRequest {
        route: route.map(Arc::from),
        state: Some(TaskState::Retrying),
        filter: Filter {
            reason: reason.map(Arc::from),
            from,
            until,
        },
        after: None,
        limit: 1_000,
        payload: false,
    };
    for (request, count) in [
        (list(None, None, None, None), 80),
        (list(Some("a"), None, None, None), 40),
        (list(Some("a"), Some("x"), None, None), 20),
        (list(Some("a"), Some(""), None, None), 20),
        (list(Some("a"), Some("y"), None, None), 0),
        // The first twelve tasks of both routes, of which a third are dead.
        (list(Some("a"), None, None, Some(1_012)), 2),
        (list(None, None, Some(1_012), None), 76),
    ] {
        let (tasks, next, _) = world.list(&request).await;
        assert_eq!((tasks.len(), next), (count, None), "{request:?}");
        for task in tasks {
            assert!(matches!(task.state, TaskState::Waiting | TaskState::Parked));
        }
    }
}

#[tokio::test]
async fn a_page_of_dead_letters_without_a_match_says_where_it_ended() {
    let world = World::new(10_000);
    let only_last = Filter {
        from: Some(5_000 + 60_000 - 6),
        reason: Some("y".into()),
        ..Filter::default()
    };
    let mut request = letters("a", Filter::default(), false);
    request.filter.reason = Some("z".into());
    let (tasks, more, next, _) = world.dead(&request).await;
    assert!(tasks.is_empty() && more);
    request.after = Some(next.expect("nothing was listed"));
    let (tasks, more, next, _) = world.dead(&request).await;
    assert!(tasks.is_empty() && more && next.is_some());
    let (tasks, more, ..) = world.dead(&letters("a", only_last, true)).await;
    assert_eq!((tasks.len(), more), (1, false));
    let content = tasks[0].content.as_ref().expect("it was asked for");
    assert_eq!(content.payload.as_deref(), Some(PAYLOAD));
}
