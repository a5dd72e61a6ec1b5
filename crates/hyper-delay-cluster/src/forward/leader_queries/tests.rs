use super::*;
use crate::{first_seq, shard_of};
use hyper_delay_engine::{
    front::{ReplyTo, TaskLookup},
    metrics::Metrics,
};
use hyper_delay_protocol::{Code, DueCounts, Reply};

const PATIENCE: Duration = Duration::from_nanos(100);

fn at(nanos: u64) -> Now {
    Now {
        wall_nanos: 7_000_000,
        monotonic: Tick::new(nanos),
    }
}

fn queries(shards: u16) -> LeaderQueries {
    LeaderQueries::new(shards, PATIENCE)
}

/// A shard whose leadership holds, and whose replica contains this entry.
fn shard(id: u16, applied: u64) -> AnsweringShard {
    AnsweringShard {
        id: ShardId(id),
        leadership_holds: true,
        applied,
    }
}

fn reply_to(consumer: u64) -> ReplyTo {
    ReplyTo {
        consumer,
        tag: None,
        weight: 3,
    }
}

fn lookup(seqs: Vec<u64>) -> Box<TaskLookup> {
    Box::new(TaskLookup {
        seqs,
        reply: Reply::Task {
            route: "r".into(),
            id: "x".into(),
            task: None,
        },
        reply_to: reply_to(5),
    })
}

/// The number of tasks that wait for the present minute.
fn due_now(tasks: u64) -> LeaderQueryAnswer {
    let mut counts = DueCounts::default();
    for spans in [&mut counts.minutes, &mut counts.hours, &mut counts.days] {
        spans.tasks = vec![tasks];
    }
    LeaderQueryAnswer::Future(Box::new(counts))
}

fn outcome(query: Query) -> QueryOutcome {
    query.complete(1, &Metrics::default(), 65_536)
}

#[test]
fn a_query_of_all_shards_is_answered_with_the_last_of_them() {
    let mut queries = queries(2);
    let (id, questions) = queries.start(Query::future(reply_to(5)), at(0));
    assert!(matches!(
        questions[..],
        [
            (ShardId(0), LeaderQuery::Future(7)),
            (ShardId(1), LeaderQuery::Future(7))
        ]
    ));
    let first = queries.answer(id, shard(0, 0), due_now(2));
    assert!(matches!(first, QueryState::Open), "{first:?}");
    let QueryState::Answered(query) = queries.answer(id, shard(1, 0), due_now(3)) else {
        panic!("both have answered");
    };
    let QueryOutcome::Reply(ReplyTo { consumer: 5, .. }, Reply::Future(sum)) = outcome(query)
    else {
        panic!("the connection waits for counts");
    };
    assert_eq!(sum.minutes.tasks, [5]);
    assert_eq!(queries.next_expiry(), None);
}

#[test]
fn revisions_are_asked_of_their_shards_and_not_of_one_that_the_cluster_does_not_have() {
    let seqs = [0, 1, 7].map(|shard| first_seq(ShardId(shard)) + 4);
    let mut queries = queries(2);
    let (id, questions) = queries.start(Query::in_flight(lookup(seqs.to_vec())), at(0));
    let asked = questions.iter().map(|(shard, query)| match query {
        LeaderQuery::InFlight(seqs) => (shard.0, seqs.clone()),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [(0, vec![seqs[0]]), (1, vec![seqs[1]])]
    );
    assert!(queries.take_answered(id).is_none());
}

#[test]
fn a_query_without_questions_is_answered_at_once() {
    let mut queries = queries(2);
    let (id, questions) = queries.start(Query::in_flight(lookup(Vec::new())), at(0));
    assert!(questions.is_empty());
    assert!(queries.take_answered(id).is_some());
    assert!(queries.take_answered(id).is_none(), "only once");
}

#[test]
fn the_leader_of_a_route_is_asked_for_its_consumers() {
    let mut queries = queries(2);
    let (id, questions) = queries.start(Query::has_consumers(9, "r".into()), at(0));
    let of = shard_of("r", 2);
    assert!(matches!(
        &questions[..],
        [(shard, LeaderQuery::HasConsumers(route))] if *shard == of && **route == *"r"
    ));
    let answer = LeaderQueryAnswer::HasConsumers(true);
    let QueryState::Answered(query) = queries.answer(id, shard(of.0, 0), answer) else {
        panic!("no other shard is asked");
    };
    assert!(matches!(
        outcome(query),
        QueryOutcome::HasConsumers(9, Ok(true))
    ));
}

#[test]
fn a_replica_that_is_behind_delays_the_answer() {
    let mut queries = queries(2);
    let (id, questions) = queries.start(Query::fresh(9, None), at(0));
    assert_eq!(questions.len(), 2);
    let applied = LeaderQueryAnswer::Applied(8);
    let state = queries.answer(id, shard(0, 7), applied.clone());
    assert!(matches!(state, QueryState::Open), "{state:?}");
    let state = queries.answer(id, shard(1, 8), applied);
    assert!(matches!(state, QueryState::Open), "{state:?}");
    assert!(queries.replica_applied(ShardId(0), 7).is_empty());
    assert!(queries.replica_applied(ShardId(1), 8).is_empty());
    let answered = queries.replica_applied(ShardId(0), 8);
    let outcomes: Vec<_> = answered.into_iter().map(outcome).collect();
    assert!(matches!(outcomes[..], [QueryOutcome::Fresh(9, Ok(()))]));
    assert!(queries.replica_applied(ShardId(0), 9).is_empty());
}

#[test]
fn queries_that_wait_for_one_entry_are_answered_in_the_order_of_its_leader() {
    let mut queries = queries(1);
    let ids = [8, 9].map(|caller| queries.start(Query::fresh(caller, None), at(0)).0);
    for id in ids.into_iter().rev() {
        queries.answer(id, shard(0, 7), LeaderQueryAnswer::Applied(8));
    }
    let answered = queries.replica_applied(ShardId(0), 8);
    let callers = answered.into_iter().map(|query| match outcome(query) {
        QueryOutcome::Fresh(caller, Ok(())) => caller,
        other => panic!("{other:?}"),
    });
    assert_eq!(callers.collect::<Vec<_>>(), [9, 8]);
}

#[test]
fn the_end_of_the_journal_counts_only_if_no_other_leads_by_now() {
    let mut queries = queries(1);
    let (id, _) = queries.start(Query::fresh(9, None), at(0));
    let ended = AnsweringShard {
        leadership_holds: false,
        ..shard(0, 8)
    };
    let state = queries.answer(id, ended, LeaderQueryAnswer::Applied(8));
    assert!(matches!(state, QueryState::AskAgain(LeaderQuery::Applied)));
    let state = queries.answer(id, shard(0, 8), LeaderQueryAnswer::Applied(8));
    assert!(matches!(state, QueryState::Answered(_)));
}

#[test]
fn a_query_of_a_replica_that_does_not_catch_up_expires() {
    let mut queries = queries(1);
    let (id, _) = queries.start(Query::fresh(9, None), at(5));
    queries.answer(id, shard(0, 7), LeaderQueryAnswer::Applied(8));
    assert_eq!(queries.next_expiry(), Some(Tick::new(105)));
    assert!(queries.expire(Tick::new(104)).is_empty());
    let expired = queries.expire(Tick::new(105));
    let [QueryOutcome::Fresh(9, Err(refusal))] = &expired[..] else {
        panic!("{expired:?}");
    };
    assert_eq!(refusal.code, Code::Unavailable);
    assert!(queries.waiting.is_empty());
    assert_eq!(queries.next_expiry(), None);
}

#[test]
fn a_query_fails_once_and_names_its_task() {
    let mut queries = queries(1);
    let (id, _) = queries.start(Query::in_flight(lookup(vec![4])), at(0));
    let failed = queries.fail(id, "gone");
    let Some(QueryOutcome::Reply(_, Reply::Error(refusal))) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(
        (
            refusal.route.as_deref(),
            refusal.id.as_deref(),
            &*refusal.message
        ),
        (Some("r"), Some("x"), "gone")
    );
    assert!(queries.fail(id, "gone").is_none());
    let late = queries.answer(id, shard(0, 0), LeaderQueryAnswer::InFlight(vec![(4, 1)]));
    assert!(matches!(late, QueryState::Open));
}
