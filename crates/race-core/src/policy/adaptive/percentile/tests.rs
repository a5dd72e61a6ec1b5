use fastrand::Rng;

use super::*;
use crate::{
    Budget, Moment,
    observe::{Cause, Event, EventKind, Observer as _, Refusal},
    policy::adaptive::Sample,
};

fn tell(mut adaptive: &Adaptive, (index, cause): (usize, Cause), kind: EventKind, ran: Duration) {
    adaptive.observe(Event::new(index, cause, Moment::ZERO, ran, kind));
}

/// Latencies of which a share of `e^(-t / 10 ms)` is longer than `t`.
fn exponential(random: &mut Rng) -> Duration {
    Duration::from_secs_f64(-0.010 * (1.0 - random.f64()).ln())
}

fn train(adaptive: &Adaptive, samples: usize) {
    let mut random = Rng::with_seed(1);
    for _ in 0..samples {
        let won = EventKind::Won;
        tell(adaptive, (0, Cause::First), won, exponential(&mut random));
    }
}

#[test]
fn a_percentile_is_hedged_before_it_and_not_always() {
    let single = Adaptive::percentile(99.0).extra_load(1.0);
    let all = Adaptive::extra_load(1.0);
    assert_eq!(
        (single.delay(), single.share(), single.gain()),
        (None, 1.0, None)
    );
    for adaptive in [&single, &all] {
        train(adaptive, 20_000);
    }
    let [early, late] = [&single, &all].map(|it| it.delay().unwrap().as_secs_f64());
    assert!((0.030..0.041).contains(&early), "{early}");
    assert!((0.042..0.050).contains(&late), "{late}");
    assert!((0.3..0.6).contains(&single.share()), "{single:?}");
    assert_eq!(all.share(), 1.0);
    assert_eq!(all.gain(), None);
}

#[test]
fn a_percentile_sets_the_memory_that_it_needs() {
    for (percent, memory) in [
        (50.0, 5_000),
        (99.0, 5_000),
        (99.9, 50_000),
        (99.99, 500_000),
        (99.9999, 500_000),
        (100.0, 5_000),
        (f64::NAN, 5_000),
    ] {
        let adaptive = Adaptive::percentile(percent).extra_load(1.0);
        assert!(adaptive.memory.abs_diff(memory) <= 1, "{percent}");
        assert_eq!(adaptive.memory(7).memory, 7);
    }
}

#[test]
fn targets_out_of_range_are_clamped() {
    for percent in [-1.0, 0.0, 50.0, 99.0, 100.0, 101.0, f64::INFINITY, f64::NAN] {
        for load in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let never = Adaptive::percentile(percent).extra_load(load);
            train(&never, 200);
            assert_eq!((never.delay(), never.plan()), (None, None));
        }
        let always = Adaptive::percentile(percent).extra_load(1_000.0);
        train(&always, 200);
        assert_eq!(
            (always.delay(), always.share()),
            (Some(Duration::ZERO), 1.0)
        );
        assert!(always.plan().unwrap().hedges);
        let some = Adaptive::percentile(percent).extra_load(5.0);
        train(&some, 200);
        assert!(some.delay().is_some() && some.plan().is_some(), "{percent}");
    }
}

#[test]
fn copies_have_a_curve_of_their_own() {
    let adaptive = || Adaptive::percentile(99.0).extra_load(1.0);
    let (quick, slow) = (adaptive(), adaptive());
    for (adaptive, millis) in [(&quick, 1), (&slow, 20)] {
        for _ in 0..200 {
            let took = Duration::from_millis(millis);
            tell(adaptive, (1, Cause::Delay), EventKind::Won, took);
        }
        assert_eq!(adaptive.samples(), 0);
        train(adaptive, 10_000);
    }
    let [quick, slow] = [quick, slow].map(|it| it.delay().unwrap());
    assert!(
        quick > slow + Duration::from_millis(5),
        "{quick:?} {slow:?}"
    );
}

#[test]
fn an_attempt_after_a_failure_is_no_copy() {
    let adaptive = Adaptive::percentile(99.0).extra_load(1.0);
    tell(
        &adaptive,
        (1, Cause::Failure),
        EventKind::Won,
        Duration::ZERO,
    );
    tell(&adaptive, (2, Cause::Idle), EventKind::Won, Duration::ZERO);
    assert_eq!(adaptive.samples(), 2);
}

#[test]
fn the_gain_needs_both_groups_and_the_percentile() {
    let adaptive = Adaptive::percentile(99.0).extra_load(1.0);
    train(&adaptive, 10_000);
    let plan = adaptive.plan().unwrap();
    let record = |hedges, took| {
        let plan = Plan { hedges, ..plan };
        adaptive.record_race(plan, Sample::Exact(took));
    };
    let past = |millis| plan.delay + Duration::from_millis(millis);
    for millis in 0..20 {
        assert_eq!(adaptive.gain(), None);
        record(false, past(millis + 1));
        record(true, past(1));
    }
    let gain = adaptive.gain().unwrap();
    assert_eq!((gain.won_the_draw, gain.lost_the_draw), (20, 20));
    assert_eq!(gain.percentile, 99.0);
    assert_eq!(gain.hedged, gain.unhedged, "all races were slow");
    (0..960).for_each(|_| record(true, plan.delay));
    let gain = adaptive.gain().unwrap();
    assert!(gain.hedged < gain.unhedged, "{gain:?}");
    (0..4_000).for_each(|_| record(true, plan.delay));
    let gain = adaptive.gain().unwrap();
    assert_eq!(
        gain.hedged, gain.unhedged,
        "fewer than 1 % are past the delay"
    );
}

/// Every option, or not, and every event.
#[test]
fn whatever_happens_the_rule_is_within_its_bounds() {
    let mut random = Rng::with_seed(9);
    let millis = |random: &mut Rng| Duration::from_millis(random.u64(0..100));
    for _ in 0..150 {
        let (percent, load) = (100.0 * random.f64(), [0.0, 0.5, 5.0, 90.0, 100.0]);
        let load = *random.choice(&load).expect("there are some");
        let mut adaptive = Adaptive::percentile(percent).extra_load(load);
        let (mut floor, mut ceiling, mut initial) = (Duration::ZERO, Duration::MAX, None);
        let mut warm_up = 100;
        if random.bool() {
            floor = millis(&mut random);
            adaptive = adaptive.floor(floor);
        }
        if random.bool() {
            ceiling = millis(&mut random);
            adaptive = adaptive.ceiling(ceiling);
        }
        if random.bool() {
            initial = Some(millis(&mut random));
            adaptive = adaptive.initial(initial.expect("it was drawn"));
        }
        if random.bool() {
            warm_up = random.u32(0..50);
            adaptive = adaptive.warm_up(warm_up);
        }
        if random.bool() {
            adaptive = adaptive.memory(random.u32(0..500));
        }
        if random.bool() {
            adaptive = adaptive.seed(random.u64(..));
        }
        adaptive = match random.u8(0..3) {
            0 => adaptive.without_budget(),
            1 => adaptive.budget(Budget::in_flight(10)),
            _ => adaptive,
        };
        for _ in 0..random.usize(0..250) {
            let kind = *random
                .choice(&[
                    EventKind::Started,
                    EventKind::Committed,
                    EventKind::Finished,
                    EventKind::Won,
                    EventKind::Failed,
                    EventKind::TimedOut,
                    EventKind::Cancelled,
                    EventKind::Refused(Refusal::Budget),
                ])
                .expect("there are some");
            let attempt = *random
                .choice(&[
                    (0, Cause::First),
                    (1, Cause::Delay),
                    (1, Cause::Failure),
                    (2, Cause::Idle),
                ])
                .expect("there are some");
            let ran = match random.u8(0..20) {
                0 => Duration::MAX,
                1 => Duration::ZERO,
                _ => exponential(&mut random),
            };
            tell(&adaptive, attempt, kind, ran);
            if let Some(plan) = adaptive.plan() {
                let sample = *random
                    .choice(&[Sample::Exact(ran), Sample::Censored(ran)])
                    .expect("there are two");
                adaptive.record_race(plan, sample);
            }
            let is_warm = adaptive.samples() >= u64::from(warm_up.max(1));
            let plan = adaptive.plan();
            match adaptive.delay() {
                delay if !is_warm => assert_eq!(delay, initial.filter(|_| load > 0.0)),
                None => assert!(load == 0.0, "{adaptive:?}"),
                Some(delay) => {
                    assert!(delay <= ceiling && delay >= floor.min(ceiling), "{delay:?}");
                    let share = adaptive.share();
                    let most = if load == 100.0 { 1.0 } else { 0.981 };
                    assert!(share > 0.0 && share <= most, "{share}");
                    assert_eq!(plan.map(|plan| plan.delay), Some(delay));
                }
            }
            assert_eq!(plan.is_some(), adaptive.delay().is_some());
            if let Some(gain) = adaptive.gain() {
                assert!(gain.won_the_draw.min(gain.lost_the_draw) >= 20);
            }
        }
    }
}
