use super::*;
use crate::policy::adaptive::rule::LONGEST;

fn weight(samples: &Samples, memory: u32) -> f64 {
    let mut weights = samples.try_lock().expect("no other thread has it");
    samples.learn(&mut weights, memory);
    survival::sum(&weights.exact) + survival::sum(&weights.censored)
}

#[test]
fn samples_recorded_while_another_thread_learns_are_all_counted() {
    let samples = Samples::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let samples = &samples;
            scope.spawn(move || {
                for nanos in 0..10_000 {
                    let took = Duration::from_nanos(nanos * thread);
                    samples.record(match nanos % 3 {
                        0 => Sample::Censored(took),
                        _ => Sample::Exact(took),
                    });
                    if nanos % 100 == 0 {
                        if let Some(mut weights) = samples.try_lock() {
                            samples.learn(&mut weights, u32::MAX);
                        }
                    }
                }
            });
        }
    });
    assert_eq!(samples.recorded(), 40_000);
    assert_eq!(weight(&samples, u32::MAX), 40_000.0);
}

#[test]
fn zero_and_longest_times_have_a_bucket() {
    let samples = Samples::new();
    for took in [
        Duration::ZERO,
        Duration::MAX,
        Duration::from_nanos(LONGEST + 1),
    ] {
        samples.record(Sample::Exact(took));
        samples.record(Sample::Censored(took));
    }
    assert_eq!(weight(&samples, 10), 6.0);
    let weights = samples.try_lock().expect("no other thread has it");
    assert_eq!(weights.delay(0.9), Some(0));
    assert_eq!(weights.delay(0.1), Some(LONGEST));
}

#[test]
fn total_weight_is_limited_by_the_memory_and_old_samples_fade() {
    let samples = Samples::new();
    for _ in 0..1_000 {
        samples.record(Sample::Exact(Duration::from_millis(1)));
    }
    assert_eq!(weight(&samples, 100), 100.0);
    for _ in 0..100 {
        samples.record(Sample::Exact(Duration::from_millis(9)));
    }
    assert_eq!(weight(&samples, 100), 100.0);
    let weights = samples.try_lock().expect("no other thread has it");
    assert_eq!(weights.exact.iter().filter(|&&it| it == 50.0).count(), 2);
}

#[test]
fn faded_samples_are_removed() {
    let samples = Samples::new();
    samples.record(Sample::Exact(Duration::from_secs(1)));
    assert_eq!(weight(&samples, 10), 1.0);
    for _ in 0..100 {
        for _ in 0..10 {
            samples.record(Sample::Exact(Duration::ZERO));
        }
        weight(&samples, 10);
    }
    let weights = samples.try_lock().expect("no other thread has it");
    assert_eq!(weights.exact.iter().filter(|&&it| it > 0.0).count(), 1);
}

#[test]
fn samples_take_38_kilobytes() {
    let bytes = BUCKETS * 2 * (size_of::<u32>() + size_of::<f32>());
    assert_eq!(bytes, 37_888);
}
