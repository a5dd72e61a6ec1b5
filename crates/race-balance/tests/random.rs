//! Random attempts against a model that keeps plain lists.

use std::time::Duration;

use proptest::prelude::*;
use race_balance::{Balance, Ejection, Lease, Targets};
use race_core::test::VirtualClock;

const MS: Duration = Duration::from_millis(1);

#[derive(Clone, Debug)]
enum Step {
    Begin,
    Pick(usize),
    Succeed(usize),
    Fail(usize),
    Cancel(usize),
    Advance(u32),
    Replace(Vec<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any = || any::<usize>();
    let step = prop_oneof![
        2 => Just(Step::Begin),
        6 => any().prop_map(Step::Pick),
        2 => any().prop_map(Step::Succeed),
        1 => any().prop_map(Step::Fail),
        2 => any().prop_map(Step::Cancel),
        3 => (0..60_u32).prop_map(Step::Advance),
        1 => proptest::collection::vec(0..6_u8, 0..5).prop_map(Step::Replace),
    ];
    proptest::collection::vec(step, 0..120)
}

/// An endpoint of the model.
#[derive(Clone, Debug)]
struct Known {
    value: u8,
    in_flight: usize,
    /// The latencies of attempts that ended, in ms.
    ended: Vec<f64>,
    /// How long attempts ran that were cancelled, in ms.
    cancelled: Vec<f64>,
    /// When the last attempt ended.
    at: f64,
    has_failed: bool,
}

#[derive(Default)]
struct Model {
    now: f64,
    decay: f64,
    /// All endpoints there ever were.
    all: Vec<Known>,
    /// Which of them are in use.
    current: Vec<usize>,
}

impl Model {
    fn add(&mut self, value: u8) -> usize {
        self.all.push(Known {
            value,
            in_flight: 0,
            ended: Vec::new(),
            cancelled: Vec::new(),
            at: 0.0,
            has_failed: false,
        });
        self.all.len() - 1
    }

    fn end(&mut self, endpoint: usize, latency: f64) {
        let known = &mut self.all[endpoint];
        known.in_flight -= 1;
        known.ended.push(latency);
        known.at = self.now;
    }

    /// Returns whether there were no attempts that could have taught something.
    fn is_unknown(&self, endpoint: usize) -> bool {
        let known = &self.all[endpoint];
        known.ended.is_empty() && known.cancelled.iter().all(|elapsed| *elapsed == 0.0)
    }

    /// Returns whether each sample of the one is fresh and longer than all of the other. Failures are
    /// forgotten after one decay.
    fn is_slower(&self, one: usize, other: usize) -> bool {
        let is_fresh = |known: &Known| {
            let decays = if known.has_failed { 1.0 } else { 2.0 };
            self.now - known.at < decays * self.decay
        };
        let [one, other] = [one, other].map(|it| &self.all[it]);
        let samples = |known: &Known| [known.ended.clone(), known.cancelled.clone()].concat();
        let least = one.ended.iter().copied().fold(f64::MAX, f64::min);
        let most = samples(other).into_iter().fold(0.0, f64::max);
        let are_known = !one.ended.is_empty() && !other.ended.is_empty();
        are_known && is_fresh(one) && is_fresh(other) && least > most
    }

    /// Returns whether both learnt last at one moment, by attempts that succeeded, and so have the
    /// same weight.
    fn are_alike(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|it| &self.all[it]);
        let are_plain = [one, other]
            .iter()
            .all(|it| it.cancelled.is_empty() && !it.has_failed);
        are_plain && one.at == other.at
    }

    /// Returns whether the one is worse than the other in one respect, and better in none. Old
    /// latencies are drawn to the mean of all that are compared: if there are more than these two,
    /// that can change the order of latencies of different ages.
    fn is_worse(&self, one: usize, other: usize, is_pair: bool) -> bool {
        let [busy, of_other] = [one, other].map(|it| self.all[it].in_flight);
        let slower = self.is_slower(one, other) && (is_pair || self.are_alike(one, other));
        let are_unknown = self.is_unknown(one) && self.is_unknown(other);
        (slower && busy >= of_other) || (are_unknown && busy > of_other)
    }
}

/// A race: its targets, the endpoints it can use, and those that it has used since the last round.
struct Run {
    targets: Targets<u8, VirtualClock>,
    endpoints: Vec<usize>,
    used: Vec<usize>,
}

struct Attempt {
    lease: Lease<u8, VirtualClock>,
    endpoint: usize,
    began: f64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn attempts_go_where_the_model_allows_and_are_counted_as_it_counts(
        steps in steps(),
        count in 1..6_u8,
        decay in prop_oneof![Just(0_u32), 1..200_u32],
        penalty in 0..100_u32,
        choices in 2..8_usize,
        seed in any::<u64>(),
    ) {
        let clock = VirtualClock::new();
        let balance = Balance::timed_by(clock.clone(), 0..count)
            .decay(decay * MS)
            .failure_penalty(penalty * MS)
            .ejection(Ejection::never())
            .choices(choices)
            .seed(seed);
        let mut model = Model { decay: f64::from(decay), ..Model::default() };
        model.current = (0..count).map(|value| model.add(value)).collect();
        let (mut runs, mut attempts) = (Vec::<Run>::new(), Vec::<Attempt>::new());
        for step in steps {
            match step {
                Step::Begin => runs.push(Run {
                    targets: balance.targets(),
                    endpoints: model.current.clone(),
                    used: Vec::new(),
                }),
                Step::Pick(run) if !runs.is_empty() => {
                    let count = runs.len();
                    let run = &mut runs[run % count];
                    let lease = run.targets.pick();
                    let value = *lease.endpoint();
                    let last = run.used.last().copied();
                    if run.used.len() == run.endpoints.len() {
                        run.used.clear();
                    }
                    let is_only = run.endpoints.len() == 1;
                    let is_free = |it: &usize| {
                        is_only || (!run.used.contains(it) && last != Some(*it))
                    };
                    let free: Vec<_> = run.endpoints.iter().copied().filter(is_free).collect();
                    let picked = free.iter().copied().find(|it| model.all[*it].value == value);
                    prop_assert!(picked.is_some(), "{value} is not free");
                    let picked = picked.unwrap();
                    let others = free.iter().filter(|it| **it != picked);
                    let is_pair = choices.min(free.len()) == 2;
                    let worse = others
                        .clone()
                        .filter(|other| model.is_worse(picked, **other, is_pair));
                    // The balance compares it with this many of the others.
                    let better = others.count() - worse.count();
                    let compared = (choices - 1).min(free.len() - 1);
                    prop_assert!(better >= compared, "{value} costs more than another one");
                    run.used.push(picked);
                    model.all[picked].in_flight += 1;
                    attempts.push(Attempt { lease, endpoint: picked, began: model.now });
                }
                Step::Succeed(attempt) if !attempts.is_empty() => {
                    let attempt = attempts.swap_remove(attempt % attempts.len());
                    attempt.lease.succeeded();
                    model.end(attempt.endpoint, model.now - attempt.began);
                }
                Step::Fail(attempt) if !attempts.is_empty() => {
                    let attempt = attempts.swap_remove(attempt % attempts.len());
                    attempt.lease.failed();
                    let took = model.now - attempt.began;
                    model.end(attempt.endpoint, took.max(f64::from(penalty)));
                    model.all[attempt.endpoint].has_failed = true;
                }
                Step::Cancel(attempt) if !attempts.is_empty() => {
                    let attempt = attempts.swap_remove(attempt % attempts.len());
                    drop(attempt.lease);
                    let known = &mut model.all[attempt.endpoint];
                    known.in_flight -= 1;
                    known.cancelled.push(model.now - attempt.began);
                }
                Step::Advance(millis) => {
                    clock.advance(millis * MS);
                    model.now += f64::from(millis);
                }
                Step::Replace(mut values) => {
                    values.sort_unstable();
                    values.dedup();
                    let replaced = balance.replace(values.iter().copied());
                    prop_assert_eq!(replaced.is_err(), values.is_empty());
                    if !values.is_empty() {
                        let before = model.current.clone();
                        let same = |model: &Model, value| {
                            before.iter().copied().find(|it| model.all[*it].value == value)
                        };
                        model.current = values
                            .into_iter()
                            .map(|value| same(&model, value).unwrap_or_else(|| model.add(value)))
                            .collect();
                    }
                }
                _ => {}
            }
            let mut current = model.current.iter().map(|it| &model.all[*it]);
            balance.inspect(|value, load| {
                let known = current.next().expect("the model has as many");
                assert_eq!((*value, load.in_flight), (known.value, known.in_flight));
                assert_eq!(load.latency.is_none(), known.ended.is_empty());
                if let Some(latency) = load.latency {
                    let latency = latency.as_secs_f64() * 1_000.0;
                    let samples = || known.ended.iter().chain(&known.cancelled).copied();
                    let (least, most) = (samples().fold(f64::MAX, f64::min), samples().fold(0.0, f64::max));
                    assert!((least - 1e-5..most + 1e-5).contains(&latency), "{latency} {known:?}");
                }
            });
            prop_assert!(current.next().is_none());
        }
    }
}
