//! Retries that hand a context from attempt to attempt.

use std::{
    cell::RefCell,
    future::pending,
    panic::{AssertUnwindSafe, catch_unwind},
};

use race::{
    Backoff, Budget, InlineRace, RaceError, Retry, Verdict,
    core::{GenericRace, Race},
    observe::Counters,
    source::Contexts,
    test::{VirtualClock, VirtualTimer},
};

use crate::probe::ms;

/// What the attempts share: not `Clone`, and not `Copy`.
#[derive(Debug, Default, PartialEq)]
struct Connection {
    /// When it was asked, in milliseconds.
    asked: Vec<u64>,
}

impl Connection {
    /// Answers the third time.
    async fn ask(&mut self, clock: &VirtualClock) -> Result<&'static str, &'static str> {
        self.asked.push(clock.elapsed().as_millis() as u64);
        clock.sleep(ms(5)).await;
        match self.asked.len() {
            3.. => Ok("answer"),
            _ => Err("busy"),
        }
    }
}

#[test]
fn owned_context_goes_from_attempt_to_attempt_and_comes_back() {
    let clock = VirtualClock::new();
    let pauses = Backoff::new(ms(10));
    let retry =
        Race::at(clock.timer()).retry_with(pauses, Connection::default(), async |mut it| {
            let answer = it.ask(&clock).await;
            (it, answer)
        });
    let (connection, result) = clock.run(retry.first_ok()).unwrap();
    let won = result.unwrap();
    assert_eq!((won.index, won.arg, won.output), (2, 2, "answer"));
    assert_eq!(connection.unwrap().asked, [0, 15, 40]);
    assert_eq!(won.elapsed, ms(45));
}

#[test]
fn borrowed_context_can_be_retried_in_a_spawned_future() {
    fn spawned<F: Future + Send + 'static>(future: F) -> F {
        future
    }
    let clock = VirtualClock::new();
    let (timer, clock_of_task) = (clock.timer(), clock.clone());
    let task = spawned(async move {
        let (mut connection, clock) = (Connection::default(), clock_of_task);
        let pauses = Backoff::new(ms(10));
        let retry = Race::at(timer).retry_with(pauses, &mut connection, async |it| {
            let answer = it.ask(&clock).await;
            (it, answer)
        });
        let classify = |_: &&str| Verdict::Retryable;
        let (_, result) = retry.max_attempts(5).first_ok_by(classify).await;
        (result.map(|won| won.output), connection)
    });
    let (result, connection) = clock.run(task).unwrap();
    assert_eq!(result, Ok("answer"));
    assert_eq!(connection.asked, [0, 15, 40]);
}

#[test]
fn last_failure_returns_the_context() {
    let clock = VirtualClock::new();
    let mut connection = Connection::default();
    let retry = Race::at(clock.timer()).retry_with(ms(0), &mut connection, async |it| {
        let answer = it.ask(&clock).await;
        (it, answer)
    });
    let (context, result) = clock.run(retry.max_attempts(2).first_ok()).unwrap();
    assert_eq!(context.unwrap().asked, [0, 5]);
    let text = result.unwrap_err().to_string();
    assert_eq!(
        text,
        "all 2 attempts failed, and further ones were refused by max_attempts: #0: busy; #1: busy"
    );
}

#[test]
fn one_attempt_runs_at_a_time_though_the_delay_passes() {
    let clock = VirtualClock::new();
    let retry = Race::at(clock.timer()).retry_with(ms(1), Connection::default(), async |mut it| {
        let answer = it.ask(&clock).await;
        (it, answer)
    });
    let (connection, result) = clock.run(retry.first_ok()).unwrap();
    assert_eq!(connection.unwrap().asked, [0, 5, 10]);
    assert_eq!(result.unwrap().index, 2);
}

#[test]
fn attempt_that_times_out_loses_its_context_and_ends_the_retry() {
    let clock = VirtualClock::new();
    let starts = RefCell::new(vec![]);
    let retry = Race::at(clock.timer()).retry_with(ms(0), (), async |()| {
        starts.borrow_mut().push(clock.elapsed());
        if starts.borrow().len() == 2 {
            pending::<()>().await;
        }
        ((), Err::<(), _>("busy"))
    });
    let retry = retry.attempt_timeout(ms(30)).max_attempts(9);
    let (context, result) = clock.run(retry.first_ok()).unwrap();
    assert_eq!(context, None);
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 2 attempts failed: #0: busy; #1: timed out after 30ms"
    );
    assert_eq!((starts.borrow().len(), clock.elapsed()), (2, ms(30)));
}

#[test]
fn deadline_keeps_the_context_unless_an_attempt_has_it() {
    for (millis, is_kept) in [(2, false), (9, true)] {
        let clock = VirtualClock::new();
        let connection = Connection::default();
        let pauses = Backoff::new(ms(100));
        let retry = Race::at(clock.timer()).retry_with(pauses, connection, async |mut it| {
            let answer = it.ask(&clock).await;
            (it, answer)
        });
        let (context, result) = clock.run(retry.deadline(ms(millis)).first_ok()).unwrap();
        assert!(result.is_err());
        assert_eq!(context.is_some(), is_kept, "{millis}");
    }
}

#[test]
fn verdicts_decide_what_an_error_means() {
    let clock = VirtualClock::new();
    let retry = Race::at(clock.timer()).retry_with(ms(0), 0, async |count: u32| {
        (count + 1, Err::<(), _>(count))
    });
    let classify = |count: &u32| match count {
        0 => Verdict::NotBefore(ms(20)),
        1 => Verdict::Retryable,
        _ => Verdict::Fatal,
    };
    let (count, result) = clock.run(retry.first_ok_by(classify)).unwrap();
    assert_eq!((count, clock.elapsed()), (Some(3), ms(20)));
    assert!(matches!(result, Err(RaceError::Fatal { failed, .. }) if failed.len() == 3));
}

#[test]
fn budget_gate_and_observer_apply_to_retries() {
    let clock = VirtualClock::new();
    let always_fails = async |()| ((), Err::<(), _>("busy"));
    let counters = Counters::new();
    let budget = Budget::percent(0).reserve(2).charge_failover();
    let retry = Race::at(clock.timer()).retry_with(ms(0), (), always_fails);
    let retry = retry.budget(&budget).observer(&counters);
    let (context, result) = clock.run(retry.first_ok()).unwrap();
    assert_eq!((context, result.unwrap_err().failed().len()), (Some(()), 3));
    assert_eq!((counters.counts().failed, budget.balance()), (3, 0));

    let retry = Race::at(clock.timer()).retry_with(ms(0), (), always_fails);
    let (_, result) = clock
        .run(retry.gate(|race| race.failed < 2).first_ok())
        .unwrap();
    assert_eq!(result.unwrap_err().failed().len(), 2);
}

#[test]
fn retry_without_an_allocator_keeps_the_last_failure() {
    let clock = VirtualClock::new();
    let retry = InlineRace::<1, _, _>::at(clock.timer())
        .retry_with(ms(0), 7, async |it: u8| (it, Err::<(), _>("busy")));
    let (context, result) = clock.run(retry.max_attempts(3).first_ok()).unwrap();
    let error = result.unwrap_err();
    assert_eq!((context, error.failed().len()), (Some(7), 1));
    assert_eq!(error.into_last_error(), Some("busy"));
}

#[test]
fn no_attempt_starts_after_one_that_panicked_with_the_context() {
    let clock = VirtualClock::new();
    let starts = RefCell::new(0);
    let retry = Race::at(clock.timer()).retry_with(ms(0), (), async |()| {
        *starts.borrow_mut() += 1;
        assert!(*starts.borrow() < 2, "an attempt");
        ((), Err::<(), _>("busy"))
    });
    let mut retrying = Box::pin(retry.first_ok());
    let run =
        |clock: &VirtualClock, future: &mut _| catch_unwind(AssertUnwindSafe(|| clock.run(future)));
    assert!(run(&clock, &mut retrying).is_err());
    let (context, result) = run(&clock, &mut retrying).unwrap().unwrap();
    assert_eq!((context, *starts.borrow()), (None, 2));
    assert_eq!(result.unwrap_err().failed().len(), 1);
}

#[test]
fn type_of_a_retry_can_be_written() {
    type Attempt = std::future::Ready<(u8, Result<u8, ()>)>;
    type Named = Retry<Race<Contexts<u8, fn(u8) -> Attempt, Attempt>, VirtualTimer>>;
    fn double(number: u8) -> Attempt {
        std::future::ready((number, Ok(number * 2)))
    }
    let clock = VirtualClock::new();
    let retry: Named = GenericRace::at(clock.timer()).retry_with(ms(0), 4, double);
    let (context, result) = clock.run(retry.first_ok()).unwrap();
    assert_eq!((context, result.unwrap().output), (Some(4), 8));
}
