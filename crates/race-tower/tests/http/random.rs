//! Random bodies, limits, options and attempts. `PROPTEST_CASES` sets how many.

use std::{pin::pin, time::Duration};

use http::{Method, Request};
use proptest::{collection::vec, option, prelude::*, sample::select};
use race_core::{OnFailure, RaceOptions, test::VirtualClock};
use race_tower::{
    GenericHedgeLayer, HedgeError,
    http::{HttpRules, ReplayLayer},
};
use tower::{ServiceBuilder, ServiceExt as _};

use crate::{
    body::{End, Script, Scripted, trailers},
    ms,
    server::{Plan, Seen, Server, Then},
};

#[derive(Clone, Debug)]
struct Case {
    script: Script,
    limit: usize,
    is_repeatable: bool,
    delay: u64,
    max_attempts: usize,
    on_failure: OnFailure,
    attempt_timeout: Option<u64>,
    deadline: Option<u64>,
    plans: Vec<Plan>,
}

fn scripts() -> impl Strategy<Value = Script> {
    let chunk = (select(vec![0, 0, 10, 60]), select(vec![0, 1, 20, 50]));
    let end = select(vec![
        End::Data,
        End::Data,
        End::Trailers,
        End::Error,
        End::Never,
    ]);
    let pause = select(vec![0, 0, 30]);
    (vec(chunk, 0..5), pause, end, any::<bool>()).prop_map(|(chunks, pause, end, hints)| Script {
        chunks,
        pause,
        end,
        hints,
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    let frames = select(vec![0, 1, 2, 3, Plan::ALL, Plan::ALL, Plan::ALL]);
    let then = select(vec![Then::Drop, Then::Keep, Then::Leak]);
    let wait = select(vec![0, 5, 40, 200, u64::MAX]);
    let end = select(vec![Ok(200), Ok(503), Ok(503), Err(())]);
    (frames, then, wait, end).prop_map(|(frames, then, wait, end)| Plan {
        frames,
        then,
        wait,
        end,
    })
}

prop_compose! {
    fn cases()(
        script in scripts(),
        limit in select(vec![0, 20, 79, 80, 1000, 1000]),
        is_repeatable in prop::bool::weighted(0.9),
        delay in select(vec![0, 20, 50]),
        max_attempts in 1..5_usize,
        on_failure in select(vec![OnFailure::IfLatest, OnFailure::Wait, OnFailure::IfIdle, OnFailure::Any]),
        attempt_timeout in option::weighted(0.3, select(vec![15, 100])),
        deadline in option::weighted(0.3, select(vec![30, 150])),
        plans in vec(plans(), 4),
    ) -> Case {
        Case {
            script, limit, is_repeatable, delay, max_attempts, on_failure, attempt_timeout, deadline,
            plans,
        }
    }
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(cases.and_then(|it| it.parse().ok()).unwrap_or(3_000))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn each_attempt_sends_the_whole_body_and_none_starts_too_early(case in cases()) {
        run(&case);
    }
}

fn run(case: &Case) {
    let clock = VirtualClock::new();
    let (body, progress) = Scripted::new(&case.script, &clock);
    let server = Server::new(&clock, &case.plans, progress);
    let mut options = RaceOptions::new()
        .max_attempts(case.max_attempts)
        .on_failure(case.on_failure);
    options = match case.attempt_timeout {
        Some(timeout) => options.attempt_timeout(ms(timeout)),
        None => options,
    };
    options = match case.deadline {
        Some(deadline) => options.deadline(ms(deadline)),
        None => options,
    };
    let hedge = GenericHedgeLayer::with_timer(clock.timer(), ms(case.delay))
        .options(options)
        .rules(HttpRules::new());
    let client = ServiceBuilder::new()
        .layer(ReplayLayer::new().limit(case.limit))
        .layer(hedge)
        .service(server.clone());
    let method = match case.is_repeatable {
        true => Method::GET,
        false => Method::POST,
    };
    let request = Request::builder().method(method).body(body).unwrap();
    {
        let mut answer = pin!(client.oneshot(request));
        let answer = clock.run(answer.as_mut()).ok();
        let answer = answer.map(|it| it.map(|it| it.status().as_u16()));
        check_end(case, &server, answer);
    }
    server.drop_leaked();
    assert!(server.progress().is_dropped, "the body is kept");
    check_attempts(case, &server.world().seen);
}

/// Checks that the request has not ended, and does not wait, while another attempt could start.
/// `None`: it waits for ever.
fn check_end(case: &Case, server: &Server, answer: Option<Result<u16, HedgeError<()>>>) {
    let (seen, progress) = (server.world().seen.clone(), server.progress());
    let is_lost = progress.recorded() > case.limit || progress.has_failed;
    let is_over = seen.len() == case.max_attempts || !case.is_repeatable || is_lost;
    match answer {
        Some(Ok(200)) => {}
        Some(Err(HedgeError::Deadline(_))) => assert!(case.deadline.is_some()),
        Some(Ok(_) | Err(_)) => assert!(is_over || case.deadline.is_some(), "{seen:#?}"),
        None => {
            let reader_is_alive = server.is_alive(reader(&seen));
            assert!(
                is_over || !progress.has_ended && reader_is_alive,
                "{seen:#?}"
            );
            assert!(
                (0..seen.len()).any(|index| server.is_running(index)),
                "nothing runs"
            );
        }
    }
}

/// Returns the last attempt that read the original.
fn reader(seen: &[Seen]) -> usize {
    let reads = |index: &usize| *index == 0 || !seen[*index].progress.has_ended;
    (0..seen.len()).rfind(reads).unwrap_or(0)
}

fn check_attempts(case: &Case, seen: &[Seen]) {
    let (whole, mut reader) = (case.script.bytes(), 0);
    assert!((1..=case.max_attempts).contains(&seen.len()));
    for (index, seen) in seen.iter().enumerate() {
        assert!(whole.starts_with(&seen.bytes), "{index}: {seen:?}");
        if seen.has_ended {
            assert_eq!(seen.bytes, whole);
            assert_eq!(seen.trailers.is_some(), case.script.end == End::Trailers);
        }
        if let Some(sent) = &seen.trailers {
            assert_eq!((&seen.bytes, sent), (&whole, &trailers()));
        }
        match seen.error.as_deref() {
            None => {}
            Some("broken") => assert_eq!((case.script.end, &seen.bytes), (End::Error, &whole)),
            Some(_) => assert_eq!(case.plans[index].then, Then::Leak, "{seen:?}"),
        }
        if index > 0 {
            assert!(case.is_repeatable);
            assert!(seen.progress.recorded() <= case.limit && !seen.progress.has_failed);
            if !seen.progress.has_ended {
                assert!(
                    !seen.alive.contains(&reader),
                    "{index} takes over too early"
                );
                reader = index;
            }
        }
        let limits = [case.attempt_timeout, case.deadline];
        let most = limits.into_iter().flatten().min().map(ms);
        assert_eq!(seen.time_left.is_some(), most.is_some());
        assert!(seen.time_left.unwrap_or(Duration::ZERO) <= most.unwrap_or(Duration::ZERO));
    }
}
