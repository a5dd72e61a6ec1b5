//! What the errors of attempts say about their endpoints, and what a race does then.

use std::{cell::RefCell, time::Duration};

use race_balance::{Balance, Load};
use race_core::{Race, RaceError, Verdict, Won, observe::Refusal, test::VirtualClock};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

type Servers = Balance<usize, VirtualClock>;
type Ended = Result<Won<usize, ()>, RaceError<usize, Answer>>;

#[derive(Clone, Copy, Debug)]
enum Answer {
    NotFound,
    Overloaded,
    Busy(Duration),
}

fn classify(answer: &Answer) -> Verdict {
    match *answer {
        Answer::NotFound => Verdict::Fatal,
        Answer::Overloaded => Verdict::Retryable,
        Answer::Busy(pause) => Verdict::NotBefore(pause),
    }
}

fn load(balance: &Servers, endpoint: usize) -> Load {
    let mut loads = Vec::new();
    balance.inspect(|_, load| loads.push(load));
    loads[endpoint]
}

/// Makes a request that tries up to four endpoints, each of which answers after 5 ms. Returns when it
/// ended, and where the attempts went at which times, in ms.
fn request(
    clock: &VirtualClock,
    balance: &Servers,
    answer: impl Fn(usize) -> Result<(), Answer>,
) -> (Ended, Vec<(usize, u128)>) {
    let starts = RefCell::new(Vec::new());
    let began = clock.elapsed();
    let targets = balance.targets();
    let attempt = |_| {
        targets.try_run_by(classify, |endpoint| {
            let after = clock.elapsed() - began;
            starts.borrow_mut().push((endpoint, after.as_millis()));
            let (sleep, answer) = (clock.sleep(5 * MS), answer(endpoint));
            async move {
                sleep.await;
                answer
            }
        })
    };
    let race = Race::at(clock.timer())
        .from_fn(1_000 * SECOND, attempt)
        .max_attempts(4);
    let ended = clock.run(race.first_ok_by(balance.judge(classify)));
    (ended.expect("it ends"), starts.into_inner())
}

fn balance<const N: usize>(clock: &VirtualClock) -> Servers {
    Balance::timed_by(clock.clone(), 0..N).seed(1)
}

#[test]
fn verdict_decides_what_is_learnt() {
    for (verdict, latency, is_pushed_back) in [
        (Verdict::Accept, Some(5 * MS), false),
        (Verdict::Fatal, Some(5 * MS), false),
        (Verdict::Retryable, Some(SECOND), false),
        (Verdict::NoMoreStarts, Some(SECOND), false),
        (Verdict::NotBefore(SECOND), None, true),
    ] {
        let clock = VirtualClock::new();
        let balance = balance::<1>(&clock);
        let attempt = balance.targets().try_run_by(
            |(): &()| verdict,
            |_| {
                let sleep = clock.sleep(5 * MS);
                async move {
                    sleep.await;
                    Err::<(), _>(())
                }
            },
        );
        let _ = clock.run(attempt).unwrap();
        let load = load(&balance, 0);
        assert_eq!(
            (load.latency, load.is_pushed_back),
            (latency, is_pushed_back),
            "{verdict:?}"
        );
    }
}

#[test]
fn fatal_answer_ends_a_row_of_failures_and_many_eject_no_endpoint() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    let overloaded = [Answer::Overloaded; 4].into_iter();
    let mut answers = overloaded.chain([Answer::NotFound]).cycle();
    for _ in 0..50 {
        let targets = balance.targets();
        let leases = [targets.pick(), targets.pick()];
        let answer = answers.next().expect("it is endless");
        for lease in leases {
            match *lease.endpoint() {
                0 => lease.judged(classify(&answer)),
                _ => lease.judged(classify(&Answer::NotFound)),
            }
        }
        assert!(!load(&balance, 0).is_ejected && !load(&balance, 1).is_ejected);
    }
}

#[test]
fn race_goes_on_at_once_if_only_one_endpoint_asks_for_a_pause() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    let pause = Answer::Busy(60 * SECOND);
    let busy = RefCell::new(None);
    let (ended, starts) = request(&clock, &balance, |endpoint| {
        match *busy.borrow_mut().get_or_insert(endpoint) == endpoint {
            true => Err(pause),
            false => Ok(()),
        }
    });
    assert_eq!(ended.unwrap().elapsed, 10 * MS);
    let busy = busy.into_inner().unwrap();
    assert_eq!(starts, [(busy, 0), (1 - busy, 5)]);
    // Later requests do not ask it at all.
    for _ in 0..10 {
        let (ended, starts) = request(&clock, &balance, |_| Ok(()));
        assert!(ended.is_ok());
        assert_eq!(starts, [(1 - busy, 0)]);
    }
}

#[test]
fn race_waits_for_the_shortest_pause_if_all_endpoints_ask_for_one() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    let asked = RefCell::new(0);
    let (ended, starts) = request(&clock, &balance, |_| {
        *asked.borrow_mut() += 1;
        match *asked.borrow() {
            1 => Err(Answer::Busy(2 * SECOND)),
            2 => Err(Answer::Busy(60 * SECOND)),
            _ => Ok(()),
        }
    });
    // The first pause ends 2 s after the first answer, at 5 ms.
    assert_eq!(ended.unwrap().elapsed, 2_010 * MS);
    let first = starts[0].0;
    assert_eq!(starts, [(first, 0), (1 - first, 5), (first, 2_005)]);
}

#[test]
fn race_over_one_endpoint_waits_for_its_pause() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock);
    let asked = RefCell::new(0);
    let (ended, starts) = request(&clock, &balance, |_| {
        *asked.borrow_mut() += 1;
        match *asked.borrow() {
            1 => Err(Answer::Busy(3 * SECOND)),
            _ => Ok(()),
        }
    });
    assert!(ended.is_ok());
    assert_eq!(starts, [(0, 0), (0, 3_005)]);
}

#[test]
fn judge_passes_other_verdicts_on() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    let judge = balance.judge(|verdict: &Verdict| *verdict);
    for verdict in [
        Verdict::Accept,
        Verdict::Retryable,
        Verdict::Fatal,
        Verdict::NoMoreStarts,
    ] {
        assert_eq!(judge(&verdict), verdict);
    }
    // No endpoint has a pause: that of the attempt was replaced, or its pause is over.
    assert_eq!(judge(&Verdict::NotBefore(SECOND)), Verdict::Retryable);
    let alone = self::balance::<1>(&clock).judge(|verdict: &Verdict| *verdict);
    assert_eq!(
        alone(&Verdict::NotBefore(SECOND)),
        Verdict::NotBefore(SECOND)
    );
    let (ended, starts) = request(&clock, &balance, |_| Err(Answer::NotFound));
    assert!(matches!(ended, Err(RaceError::Fatal { .. })));
    assert_eq!(starts.len(), 1);
    let (ended, starts) = request(&clock, &balance, |_| Err(Answer::Overloaded));
    let Err(RaceError::AllFailed { refused, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(
        (refused, starts.len()),
        (Some(Refusal::MaxAttempts), 4),
        "{starts:?}"
    );
}

#[tokio::test]
async fn race_that_is_judged_can_be_spawned() {
    let balance = Balance::new(["one".to_owned(), "two".to_owned()]);
    let request = async move {
        let targets = balance.targets();
        let ask = async |host: String| Ok::<_, Answer>(host.len());
        let attempt = |_| targets.try_run_by(classify, ask);
        let race = race_thread::Race::from_fn(10 * MS, attempt).max_attempts(2);
        race.first_ok_by(balance.judge(classify)).await
    };
    assert_eq!(tokio::spawn(request).await.unwrap().unwrap().output, 3);
}
