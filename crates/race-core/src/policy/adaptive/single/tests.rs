use std::vec::Vec;

use fastrand::Rng;

use super::*;

fn curve(points: impl IntoIterator<Item = (u64, f64)>) -> Curve {
    let mut curve = Curve::default();
    let points = points.into_iter();
    curve.fill(points.map(|(at, running)| Point { at, running }));
    curve
}

fn aim(load: f64, beyond: f64) -> Aim {
    Aim {
        load,
        beyond,
        floor: 0,
        ceiling: u64::MAX,
    }
}

/// The curve of latencies whose share beyond `t` is `running(t)`, up to a share of 10^-6.
fn curve_of(running: impl Fn(f64) -> f64) -> Curve {
    // As fine as the buckets of a histogram.
    let times = (0..).map(|step| 1e3 * 1.01_f64.powi(step));
    let points = times.map(|at| (at as u64, running(at)));
    let mut points: Vec<_> = points.take_while(|point| point.1 > 1e-6).collect();
    points.dedup_by_key(|point| point.0);
    curve(points)
}

/// The share of the races that last longer than `t`.
fn beyond(t: u64, (delay, share): (u64, f64), first: &Curve, copy: &Curve) -> f64 {
    match t.checked_sub(delay) {
        None => first.running_at(t),
        Some(rest) => first.running_at(t) * (1.0 - share + share * copy.running_at(rest)),
    }
}

/// The first time that at most a share of the races exceeds.
fn percentile(aim: &Aim, rule: (u64, f64), first: &Curve, copy: &Curve) -> Option<u64> {
    let last = |curve: &Curve| curve.points().last().unwrap().at;
    let end = last(first) + last(copy) + 1;
    (0..=end).find(|t| beyond(*t, rule, first, copy) <= aim.beyond * (1.0 + 1e-6))
}

/// Optima that were computed from the distributions, without curves.
#[test]
fn rules_are_those_of_known_distributions() {
    let exponential = curve_of(|t| (-t / 10e6).exp());
    let pareto = curve_of(|t| match t < 1e6 {
        true => 1.0,
        false => (t / 1e6).powf(-1.5),
    });
    for (curve, load, delay, share) in [
        (&exponential, 0.01, 36.9e6, 0.40),
        (&exponential, 0.02, 35.1e6, 0.67),
        (&pareto, 0.01, 12.55e6, 0.444),
        (&pareto, 0.02, 10.36e6, 0.667),
    ] {
        let rule = aim(load, 0.01).rule(curve, curve).unwrap();
        let (found, part) = (rule.delay as f64, rule.share.get());
        assert!((found / delay - 1.0).abs() < 0.05, "{found} for {delay}");
        assert!((part / share - 1.0).abs() < 0.08, "{part} for {share}");
        let spent = part * curve.running_at(rule.delay);
        assert!((spent / load - 1.0).abs() < 0.001, "{spent} for {load}");
    }
}

#[test]
fn a_load_beyond_the_percentile_hedges_nearly_all_that_last_so_long() {
    let exponential = curve_of(|t| (-t / 10e6).exp());
    let rule = aim(0.1, 0.01).rule(&exponential, &exponential).unwrap();
    assert!((rule.share.get() - MOST).abs() < 0.02, "{rule:?}");
    let past = exponential.running_at(rule.delay);
    assert!((past * rule.share.get() / 0.1 - 1.0).abs() < 0.01, "{past}");
}

#[test]
fn copies_that_take_long_are_sent_earlier() {
    let first = curve_of(|t| (-t / 10e6).exp());
    let delay = |copy| {
        aim(0.01, 0.01)
            .rule(&first, &curve([(copy, 0.0)]))
            .unwrap()
            .delay
    };
    let [quick, slow] = [1_000_000, 20_000_000].map(delay);
    assert!(quick > slow + 10_000_000, "{quick} {slow}");
}

#[test]
fn a_percentile_that_nothing_reaches_leaves_a_rule_with_the_load() {
    // Half of the attempts were cancelled at 10, so longer times are not known.
    let curve = curve([(5, 0.6), (10, 0.5)]);
    for beyond in [0.01, 0.0] {
        let rule = aim(0.01, beyond).rule(&curve, &curve).unwrap();
        let spent = rule.share.get() * curve.running_at(rule.delay);
        assert!((spent - 0.01).abs() < 1e-6, "{rule:?}");
    }
    assert_eq!(aim(0.01, 0.01).rule(&Curve::default(), &curve), None);
}

/// Three requests in two hundred hang until a timeout, and hedges do not.
#[test]
fn requests_that_hang_are_hedged_long_before_the_timeout() {
    let running = |t: f64| 0.985 * (-t / 10e6).exp() + 0.015;
    let times = (0..700).map(|step| (1e3 * 1.02_f64.powi(step)) as u64);
    let points = times.take_while(|at| *at < 1_000_000_000);
    let first = curve(points.map(|at| (at, running(at as f64))));
    let rule = aim(0.01, 0.01).rule(&first, &first).unwrap();
    assert!(rule.delay < 100_000_000, "{rule:?}");
    let late = beyond(72_000_000, (rule.delay, rule.share.get()), &first, &first);
    assert!(late <= 0.01, "{late} {rule:?}");
}

/// A model that tries each delay, and reads each time.
#[test]
fn no_other_rule_with_as_many_copies_is_better() {
    let mut random = Rng::with_seed(5);
    let draw_curve = |random: &mut Rng| {
        let mut running = 1.0;
        let mut points = Vec::new();
        let mut at = 0;
        for _ in 0..random.usize(1..8) {
            at += random.u64(1..9);
            running *= random.f64();
            points.push((at, running));
        }
        if random.bool() {
            points.push((at + 1, 0.0));
        }
        curve(points)
    };
    let mut known = 0;
    for _ in 0..4_000 {
        let (first, copy) = (draw_curve(&mut random), draw_curve(&mut random));
        let aim = Aim {
            load: random.f64(),
            beyond: random.f64() * 0.5,
            floor: random.u64(0..10) * random.u64(0..2),
            ceiling: match random.bool() {
                true => u64::MAX,
                false => random.u64(0..40),
            },
        };
        let rule = aim.rule(&first, &copy).unwrap();
        assert_eq!(aim.within(rule.delay), rule.delay);
        let spent = rule.share.get() * first.running_at(rule.delay);
        assert!(spent <= aim.load + 1e-6, "{aim:?} {rule:?}");
        assert!(rule.share.get() <= MOST + 1e-6);
        let reached = percentile(&aim, (rule.delay, rule.share.get()), &first, &copy);
        let delays = (0..80).filter(|delay| aim.within(*delay) == *delay);
        let best = delays.filter_map(|delay| {
            let waiting = first.running_at(delay);
            let share = MOST.min(aim.load / waiting);
            percentile(&aim, (delay, share), &first, &copy)
        });
        let best = best.min();
        // Beyond the longest attempt that was seen, nothing is known.
        let seen = first.points().last().unwrap().at;
        if best.is_some_and(|best| best <= seen) {
            known += 1;
            assert_eq!(reached, best, "{aim:?} {rule:?} {first:?} {copy:?}");
        }
    }
    assert!(known > 1_000, "{known}");
}
