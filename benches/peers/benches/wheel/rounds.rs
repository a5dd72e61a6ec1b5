//! Measures all entrants in turn.

use std::{hint::black_box, time::Instant};

use crate::{TIMERS, contenders::Timers, memory};

const ROUNDS: usize = 7;

/// Nanoseconds per insert, cancel and expired timer.
pub(crate) type Times = [f64; 3];

pub(crate) struct Entrant {
    pub(crate) name: &'static str,
    times: fn(&[u64], u64) -> Times,
    /// Bytes per timer beyond its value.
    pub(crate) bytes: fn(&[u64]) -> f64,
}

impl Entrant {
    pub(crate) fn new<T: Timers>() -> Self {
        Self {
            name: T::NAME,
            times: times::<T>,
            bytes: memory::bytes::<T>,
        }
    }
}

pub(crate) fn medians(entrants: &[Entrant], range: u64) -> Vec<Times> {
    let mut samples = vec![Vec::new(); entrants.len()];
    for round in 0..ROUNDS {
        let deadlines = deadlines(range, round as u64);
        for (entrant, samples) in entrants.iter().zip(&mut samples) {
            samples.push((entrant.times)(&deadlines, range));
        }
    }
    samples.into_iter().map(|it| median(&it)).collect()
}

fn times<T: Timers>(deadlines: &[u64], range: u64) -> Times {
    let mut timers = T::new();
    let mut keys = Vec::with_capacity(deadlines.len());

    let begun = Instant::now();
    for (value, at) in deadlines.iter().enumerate() {
        keys.push(timers.insert(*at, value as u64));
    }
    let insert = begun.elapsed();

    // Half of them, at random.
    let mut random = Random(range);
    let half: Vec<_> = keys
        .into_iter()
        .filter(|_| random.next().is_multiple_of(2))
        .collect();
    let (cancelled, rest) = (half.len(), deadlines.len() - half.len());
    let begun = Instant::now();
    half.into_iter().for_each(|key| timers.cancel(key));
    let cancel = begun.elapsed();

    let (mut count, mut sum) = (0, 0);
    let begun = Instant::now();
    timers.expire(range, |value| {
        count += 1;
        sum ^= value;
    });
    let expire = begun.elapsed();
    black_box(sum);
    assert_eq!(count, rest, "{} lost timers", T::NAME);

    let each = |(took, count): (std::time::Duration, usize)| took.as_nanos() as f64 / count as f64;
    [(insert, TIMERS), (cancel, cancelled), (expire, rest)].map(each)
}

/// A million deadlines, uniformly distributed within the range.
pub(crate) fn deadlines(range: u64, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    (0..TIMERS).map(|_| 1 + random.next() % range).collect()
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn median(samples: &[Times]) -> Times {
    [0, 1, 2].map(|cell| {
        let mut samples: Vec<f64> = samples.iter().map(|times| times[cell]).collect();
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2]
    })
}
