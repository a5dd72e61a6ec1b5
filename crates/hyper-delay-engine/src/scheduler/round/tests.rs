//! A hedged round against a model of the rule, in random plans.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const SEQ: u64 = 7;

fn at(millis: u64) -> Tick {
    Tick::new(millis * 1_000_000)
}

fn timers() -> Timers {
    Timers::new(1_000_000)
}

fn after(delay_ms: u64) -> CopyEnd {
    CopyEnd {
        delay_ms: Some(delay_ms),
        reason: Some("no disk".into()),
        kind: CopyEndKind::Failed,
        ..CopyEnd::default()
    }
}

#[test]
fn a_round_is_extended_and_never_shortened() {
    let mut timers = timers();
    let mut round = Round::begin(
        SEQ,
        1,
        (Tick::ZERO, Duration::from_millis(100)),
        None,
        &mut timers,
    );
    round.extend(SEQ, at(99), &mut timers);
    assert_eq!(round.until(), at(100));
    round.extend(SEQ, at(101), &mut timers);
    assert_eq!(round.until(), at(101));
    assert!(timers.poll_limited(at(100), 9).next().is_none());
    let ended: Vec<Timer> = timers.poll_limited(at(101), 9).collect();
    assert_eq!(ended, [Timer::RoundEnd(SEQ)]);
}

#[test]
fn a_round_without_hedging_fails_with_its_only_copy() {
    let mut timers = timers();
    let mut round = Round::begin(
        SEQ,
        1,
        (Tick::ZERO, Duration::from_millis(100)),
        None,
        &mut timers,
    );
    assert_eq!(round.step(SEQ, at(0), &mut timers), RoundStep::Wait);
    assert!(!round.fail(2, after(5), at(10)), "2 has no copy");
    assert!(round.fail(1, after(5), at(10)));
    assert!(!round.fail(1, CopyEnd::default(), at(10)), "it fails once");
    let failed = RoundStep::Failed(after(5));
    assert_eq!(round.step(SEQ, at(10), &mut timers), failed);
}

#[test]
fn the_timer_at_the_end_stays_until_the_round_ends() {
    for hedge in [None, Some(Duration::from_millis(10))] {
        let mut timers = timers();
        let mut round = Round::begin(
            SEQ,
            1,
            (Tick::ZERO, Duration::from_millis(100)),
            hedge,
            &mut timers,
        );
        round.step(SEQ, at(0), &mut timers);
        round.fail(1, CopyEnd::default(), at(1));
        round.step(SEQ, at(1), &mut timers);
        assert!(round.has_timer(&timers));
        round.end(&mut timers);
        assert!(timers.is_empty());
    }
}

#[test]
fn a_round_without_its_only_copy_is_over_and_has_not_failed() {
    let mut timers = timers();
    let times = (Tick::ZERO, Duration::from_millis(100));
    let mut round = Round::begin(SEQ, 1, times, None, &mut timers);
    assert_eq!(round.void_copy(2, at(1)), VoidedCopy::Unknown);
    assert_eq!(round.void_copy(1, at(1)), VoidedCopy::Only);
    assert_eq!(round.step(SEQ, at(1), &mut timers), RoundStep::Wait);
}

#[test]
fn a_hedged_round_goes_on_without_a_copy_that_was_never_sent() {
    let mut timers = timers();
    let times = (Tick::ZERO, Duration::from_millis(100));
    let mut round = Round::begin(SEQ, 1, times, Some(Duration::ZERO), &mut timers);
    round.record_sent(2);
    assert_eq!(round.void_copy(2, at(1)), VoidedCopy::OthersStay);
    assert_eq!(round.holders().collect::<Vec<_>>(), [1]);
    assert_eq!(round.step(SEQ, at(1), &mut timers), RoundStep::Send);
    assert_eq!(round.void_copy(1, at(2)), VoidedCopy::Only);
}

#[test]
fn an_unreachable_consumer_leaves_a_round_whose_copies_are_not_known() {
    let mut timers = timers();
    let times = (Tick::ZERO, Duration::from_millis(100));
    let mut round = Round::begin(SEQ, 1, times, Some(Duration::ZERO), &mut timers);
    round.record_sent(2);
    round.detach(1, 3, &mut timers);
    assert_eq!(
        (round.missing(), round.unreported_until()),
        (1, Some(at(100)))
    );
    assert_eq!(round.void_copy(2, at(1)), VoidedCopy::OthersUnknown);
    assert!(
        !round.adopt(SEQ, (5, 2), at(300), &mut timers),
        "an earlier round"
    );
    assert_eq!(round.until(), at(100));
    assert!(round.adopt(SEQ, (5, 3), at(300), &mut timers));
    assert_eq!((round.missing(), round.until()), (0, at(300)));
    round.withhold(SEQ, at(400), &mut timers);
    assert_eq!((round.missing(), round.until()), (1, at(400)));
}

/// What happens to a copy.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Silent,
    /// It fails this many milliseconds after it was sent.
    Fails(u64),
}

#[derive(Debug, Clone)]
struct Plan {
    delay: u64,
    /// For each consumer, in order.
    fates: Vec<Fate>,
}

/// When each copy is sent, and when the round has failed, if it does by the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct History {
    sent: Vec<u64>,
    failed: Option<u64>,
}

const END: u64 = 200;

/// The rule in words: the next copy goes out `delay` after the latest one, and at once when the
/// latest one fails or none is live. When a copy is due and no consumer is left, there are no more.
fn model(plan: &Plan) -> History {
    let mut history = History::default();
    // For each copy sent, when it fails.
    let mut fails: Vec<Option<u64>> = Vec::new();
    let mut is_over = false;
    let mut due = 0;
    for now in 0..=END {
        loop {
            let latest_failed = fails.last().is_some_and(|at| *at == Some(now));
            let is_live = |at: &Option<u64>| at.is_none_or(|at| at > now);
            let none_live = !fails.iter().any(is_live);
            if !is_over && (now == due || latest_failed || none_live) {
                match plan.fates.get(fails.len()) {
                    None => is_over = true,
                    Some(fate) => {
                        history.sent.push(now);
                        fails.push(match fate {
                            Fate::Silent => None,
                            Fate::Fails(after) => Some(now + after),
                        });
                        due = now + plan.delay;
                        continue;
                    }
                }
            }
            if is_over && none_live {
                history.failed = Some(now);
                return history;
            }
            break;
        }
    }
    history
}

fn run(plan: &Plan) -> History {
    let mut timers = timers();
    let hedge = Some(Duration::from_millis(plan.delay));
    let mut round = Round::begin(
        SEQ,
        0,
        (Tick::ZERO, Duration::from_millis(END)),
        hedge,
        &mut timers,
    );
    let mut history = History {
        sent: vec![0],
        failed: None,
    };
    for now in 0..=END {
        let _: Vec<Timer> = timers.poll(at(now)).collect();
        // The earlier copies are reported first, and each is a step of its own.
        let fails_now = |(sent, fate): (&u64, &Fate)| match fate {
            Fate::Fails(after) => sent + after == now,
            Fate::Silent => false,
        };
        let copies = history.sent.iter().zip(&plan.fates);
        let failing: Vec<bool> = copies.map(fails_now).collect();
        let failing = failing.iter().enumerate().filter(|(_, fails)| **fails);
        for copy in failing.map(|(place, _)| Some(place)).chain([None]) {
            if let Some(copy) = copy {
                assert!(round.fail(copy as ConsumerId, CopyEnd::default(), at(now)));
            }
            while let RoundStep::Send = round.step(SEQ, at(now), &mut timers) {
                let next = history.sent.len();
                if next < plan.fates.len() {
                    round.record_sent(next as ConsumerId);
                    history.sent.push(now);
                } else {
                    round.stop_sending();
                }
            }
        }
        if let RoundStep::Failed(_) = round.step(SEQ, at(now), &mut timers) {
            history.failed = Some(now);
            return history;
        }
    }
    history
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        1 => Just(Fate::Silent),
        3 => (1..40u64).prop_map(Fate::Fails),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::cases(4_000)))]

    #[test]
    fn copies_go_out_and_rounds_fail_as_in_the_model(
        delay in 1..30u64,
        fates in prop::collection::vec(fates(), 1..6),
    ) {
        let plan = Plan { delay, fates };
        prop_assert_eq!(run(&plan), model(&plan));
    }
}
